package edrp.lab;

import java.io.Serializable;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;

/**
 * Takes the time that serving a record takes, asleep: replicas then do not compete for processors, so that many of them scale
 * on few cores. Or computing, as most jobs do.
 */
final class Service implements Serializable {
    private final double meanMicros;
    private final boolean exponential;
    private final boolean computing;
    private transient long freeAt;

    Service(double meanMicros, boolean exponential) {
        this(meanMicros, exponential, false);
    }

    Service(double meanMicros, boolean exponential, boolean computing) {
        this.meanMicros = meanMicros;
        this.exponential = exponential;
        this.computing = computing;
    }

    /** Serves one record. Waking up late is made up for by the next record, so that the mean is exact when records queue. */
    void serve() {
        double micros = exponential ? -meanMicros * Math.log(1 - ThreadLocalRandom.current().nextDouble()) : meanMicros;
        long now = System.nanoTime();
        if (computing) {
            while (System.nanoTime() - now < micros * 1000) {
                Thread.onSpinWait();
            }
            return;
        }
        long queueing = freeAt != 0 && now - freeAt < QUEUEING_NANOS ? freeAt : now;
        freeAt = queueing + (long) (micros * 1000);
        for (long left = freeAt - now; left > 0; left = freeAt - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }

    /** A record that comes within this time of the last one's end has waited for it. */
    private static final long QUEUEING_NANOS = 200_000;
}
