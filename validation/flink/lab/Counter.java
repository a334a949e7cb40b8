package edrp.lab;

import java.util.Random;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** Counts the records of each key, and holds so many bytes of state for it. */
final class Counter extends KeyedProcessFunction<Integer, Event, Event> {
    private final Service service;
    private final int bytes;
    private transient ValueState<byte[]> ballast;
    private transient ValueState<Long> count;

    Counter(Service service, int bytes) {
        this.service = service;
        this.bytes = bytes;
    }

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
