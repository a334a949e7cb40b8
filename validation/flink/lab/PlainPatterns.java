package edrp.lab;

import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** Does what a live operator of patterns does, as an ordinary keyed operator of Flink. */
final class PlainPatterns<O> extends KeyedProcessFunction<Long, PatternChange, O> {
    private final PatternFunction<O> function;
    private transient ValueState<PatternState> state;

    PlainPatterns(PatternFunction<O> function) {
        this.function = function;
    }

    @Override
    public void open(OpenContext context) {
        state = getRuntimeContext().getState(new ValueStateDescriptor<>("pattern", PatternState.class));
    }

    @Override
    public void processElement(PatternChange change, Context context, Collector<O> out) throws Exception {
        PatternState next = function.next(state.value(), change, out::collect);
        if (next == null) {
            state.clear();
        } else {
            state.update(next);
        }
    }
}
