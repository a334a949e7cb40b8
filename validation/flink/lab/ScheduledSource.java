package edrp.lab;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource.NumberSequenceSplit;
import org.apache.flink.api.connector.source.util.ratelimit.RateLimitedSourceReader;
import org.apache.flink.api.connector.source.util.ratelimit.RateLimiter;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.connector.datagen.source.GeneratorFunction;

/**
 * A source that lets each record go when it is due; until then it is idle, and checkpoints go through. Runs once only.
 *
 * <p>It reports pendingRecords, as a connector of a log does: records that are due and that it has not let go.
 */
final class ScheduledSource<T> extends DataGeneratorSource<T> {
    private final RateSchedule schedule;

    ScheduledSource(GeneratorFunction<Long, T> generator, RateSchedule schedule, TypeInformation<T> type) {
        super(generator, Long.MAX_VALUE - 1, type);
        this.schedule = schedule;
    }

    @Override
    public SourceReader<T, NumberSequenceSplit> createReader(SourceReaderContext context) throws Exception {
        Limiter limiter = new Limiter(schedule);
        context.metricGroup().setPendingRecordsGauge(limiter::pending);
        return new Reader<>(super.createReader(context), limiter);
    }

    /** Tells the limiter at which record the source starts or, after a restart, goes on. */
    private static final class Reader<T> extends RateLimitedSourceReader<T, NumberSequenceSplit> {
        private final Limiter limiter;

        private Reader(SourceReader<T, NumberSequenceSplit> records, Limiter limiter) {
            super(records, limiter);
            this.limiter = limiter;
        }

        @Override
        public void addSplits(List<NumberSequenceSplit> splits) {
            limiter.startAt(splits.get(0).from());
            super.addSplits(splits);
        }
    }

    private static final class Limiter implements RateLimiter<NumberSequenceSplit> {
        /** Rates may change while a record waits. */
        private static final double MAX_WAIT_MS = 100;

        private static final ScheduledExecutorService TIMER =
                Executors.newSingleThreadScheduledExecutor(
                        task -> {
                            Thread thread = new Thread(task, "lab-schedule");
                            thread.setDaemon(true);
                            return thread;
                        });

        private final RateSchedule schedule;
        private long next = -1;
        private CompletableFuture<Void> asked;

        private Limiter(RateSchedule schedule) {
            this.schedule = schedule;
        }

        private synchronized void startAt(long index) {
            next = index;
            if (asked != null && !asked.isDone()) {
                release(asked, next++);
            }
        }

        @Override
        public synchronized CompletionStage<Void> acquire(int records) {
            asked = new CompletableFuture<>();
            CompletableFuture<Void> answer = asked;
            if (next >= 0) { // else it is answered once the source knows where it starts
                release(answer, next++);
            }
            return answer;
        }

        /** Records that are due and have not been let go; 0 until the source knows where it starts. */
        private synchronized long pending() {
            if (next < 0) {
                return 0;
            }
            long first = asked != null && !asked.isDone() ? next - 1 : next;
            return Math.max(0, schedule.dueUntil(System.currentTimeMillis()) - first);
        }

        /** Completes what was asked for when the record is due. */
        private void release(CompletableFuture<Void> answer, long index) {
            double wait = schedule.due(index) - System.currentTimeMillis();
            if (wait <= 0) {
                answer.complete(null);
            } else {
                long micros = (long) (1000 * Math.min(wait, MAX_WAIT_MS));
                TIMER.schedule(() -> release(answer, index), micros, TimeUnit.MICROSECONDS);
            }
        }
    }
}
