package edrp.lab;

import edrp.live.LiveFunction;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** Runs a live function without timers as an ordinary keyed operator of Flink. */
final class PlainFunction<I, K, S, O> extends KeyedProcessFunction<K, I, O> {
    private final LiveFunction<I, K, S, O> function;
    private transient ValueState<S> state;

    PlainFunction(LiveFunction<I, K, S, O> function) {
        this.function = function;
    }

    @Override
    public void open(OpenContext context) throws Exception {
        state = getRuntimeContext().getState(new ValueStateDescriptor<>("state", function.stateType()));
        function.open(getRuntimeContext());
    }

    @Override
    public void processElement(I value, Context context, Collector<O> out) throws Exception {
        S next = function.process(context.getCurrentKey(), state.value(), value, new Around<>(context, out));
        if (next == null) {
            state.clear();
        } else {
            state.update(next);
        }
    }

    private record Around<O>(KeyedProcessFunction<?, ?, O>.Context context, Collector<O> out) implements LiveFunction.Context<O> {
        @Override
        public void collect(O result) {
            out.collect(result);
        }

        @Override
        public Long timestamp() {
            return context.timestamp();
        }

        @Override
        public long watermark() {
            return context.timerService().currentWatermark();
        }

        @Override
        public long processingTime() {
            return context.timerService().currentProcessingTime();
        }

        @Override
        public void registerEventTimer(long time) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void registerProcessingTimer(long time) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void deleteEventTimer(long time) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void deleteProcessingTimer(long time) {
            throw new UnsupportedOperationException();
        }
    }
}
