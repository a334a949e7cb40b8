package edrp.lab;

import java.util.Random;

/** State of a key in a live job: the last number, the chain of all so far, and ballast that does not compress. */
public class ChainState {
    private static final long MULTIPLIER = 6364136223846793005L;

    public long number;
    public long chain;
    public byte[] ballast;

    /** For Flink's serializer. */
    public ChainState() {}

    /** The state after a record: numbers that are lost, doubled or out of order give another chain. */
    static ChainState next(ChainState before, Numbered record, int bytes) {
        ChainState next = new ChainState();
        next.number = before == null ? 1 : before.number + 1;
        next.chain = (before == null ? 0 : before.chain) * MULTIPLIER + record.number;
        next.ballast = before == null ? new byte[bytes] : before.ballast;
        if (before == null) {
            new Random(record.key).nextBytes(next.ballast);
        }
        return next;
    }

    Numbered result(Numbered record) {
        return new Numbered(record.due, record.key, record.number, chain);
    }
}
