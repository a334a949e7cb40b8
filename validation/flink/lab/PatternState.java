package edrp.lab;

import java.util.Random;

/** State of a pattern, which is not changed once it is kept, with ballast that does not compress. */
public class PatternState {
    public int count;
    public int containing;
    public byte[] ballast;

    /** For Flink's serializer. */
    public PatternState() {}

    /** The state after a change, null where nothing is counted any more: changes may come in any order. */
    static PatternState next(PatternState before, PatternChange change, int bytes) {
        PatternState next = new PatternState();
        next.count = (before == null ? 0 : before.count) + (change.containing ? 0 : change.change);
        next.containing = (before == null ? 0 : before.containing) + (change.containing ? change.change : 0);
        if (next.count == 0 && next.containing == 0) {
            return null;
        }
        next.ballast = before == null ? new byte[bytes] : before.ballast;
        if (before == null) {
            new Random(change.pattern).nextBytes(next.ballast);
        }
        return next;
    }
}
