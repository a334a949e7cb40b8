package edrp.live;

import org.apache.flink.streaming.api.operators.InternalTimerService;
import org.apache.flink.streaming.api.operators.TimestampedCollector;

/** What surrounds a value or timer. Timers belong to the key, move with its task, and fire once. Times are in milliseconds. */
public final class Context<K, O> {
    private final TaskState<K, ?> state;
    private final InternalTimerService<K> service;
    private final TimestampedCollector<O> results;
    private final K key;
    private final Long timestamp;

    Context(TaskState<K, ?> state, InternalTimerService<K> service, TimestampedCollector<O> results, K key, Long timestamp) {
        this.state = state;
        this.service = service;
        this.results = results;
        this.key = key;
        this.timestamp = timestamp;
    }

    /** Sends a result, with the timestamp of the value or timer. */
    public void collect(O result) {
        results.eraseTimestamp();
        if (timestamp != null) {
            results.setAbsoluteTimestamp(timestamp);
        }
        results.collect(result);
    }

    /** Of the value, or of the timer where it is one of event time; null where there is none. */
    public Long timestamp() { return timestamp; }

    public long watermark() { return service.currentWatermark(); }

    public long processingTime() { return service.currentProcessingTime(); }

    public void registerEventTimer(long time) throws Exception { state.register(key, time, TaskState.EVENT); }

    public void registerProcessingTimer(long time) throws Exception { state.register(key, time, TaskState.PROCESSING); }

    public void deleteEventTimer(long time) throws Exception { state.unregister(key, time, TaskState.EVENT); }

    public void deleteProcessingTimer(long time) throws Exception { state.unregister(key, time, TaskState.PROCESSING); }
}
