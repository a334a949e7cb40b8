package edrp.lab;

import java.util.Random;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/**
 * Counts the records of each key, and holds so many bytes of state for it.
 *
 * <p>After a restart it waits as long as a shared store would take to hand all of the state back, on top of Flink's own time.
 */
final class Counter extends KeyedProcessFunction<Integer, Event, Event> implements CheckpointedFunction {
    private final Service service;
    private final int bytes;
    private final double secondsOfStore;
    private transient ValueState<byte[]> ballast;
    private transient ValueState<Long> count;

    Counter(Service service, int bytes, double secondsOfStore) {
        this.service = service;
        this.bytes = bytes;
        this.secondsOfStore = secondsOfStore;
    }

    @Override
    public void initializeState(FunctionInitializationContext context) throws InterruptedException {
        if (context.isRestored()) {
            Thread.sleep((long) (1000 * secondsOfStore));
        }
    }

    @Override
    public void snapshotState(FunctionSnapshotContext context) {}

    @Override
    public void open(OpenContext context) {
        ballast = getRuntimeContext().getState(new ValueStateDescriptor<>("ballast", byte[].class));
        count = getRuntimeContext().getState(new ValueStateDescriptor<>("count", Long.class));
    }

    @Override
    public void processElement(Event event, Context context, Collector<Event> out) throws Exception {
        Long seen = count.value();
        if (seen == null) {
            byte[] content = new byte[bytes];
            new Random(event.key).nextBytes(content); // does not compress
            ballast.update(content);
        }
        count.update(seen == null ? 1 : seen + 1);
        service.serve();
        out.collect(event);
    }
}
