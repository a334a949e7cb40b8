package edrp.lab;

import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.streaming.api.functions.co.KeyedCoProcessFunction;
import org.apache.flink.util.Collector;

/** Remembers the last record of each key and side, and hands a record on once the other side has one of its key. */
final class Join extends KeyedCoProcessFunction<Integer, Event, Event, Event> {
    private final Service service;
    private transient ValueState<Event> left;
    private transient ValueState<Event> right;

    Join(Service service) {
        this.service = service;
    }

    @Override
    public void open(OpenContext context) {
        left = getRuntimeContext().getState(new ValueStateDescriptor<>("left", Event.class));
        right = getRuntimeContext().getState(new ValueStateDescriptor<>("right", Event.class));
    }

    @Override
    public void processElement1(Event event, Context context, Collector<Event> out) throws Exception {
        meet(event, left, right, out);
    }

    @Override
    public void processElement2(Event event, Context context, Collector<Event> out) throws Exception {
        meet(event, right, left, out);
    }

    private void meet(Event event, ValueState<Event> own, ValueState<Event> other, Collector<Event> out) throws Exception {
        own.update(event);
        service.serve();
        if (other.value() != null) {
            out.collect(event);
        }
    }
}
