package edrp.lab;

import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** Does what LiveCounter does, as an ordinary keyed operator of Flink. */
final class PlainCounter extends KeyedProcessFunction<Integer, Numbered, Numbered> {
    private final Service service;
    private final int bytes;
    private transient ValueState<ChainState> state;

    PlainCounter(Service service, int bytes) {
        this.service = service;
        this.bytes = bytes;
    }

    @Override
    public void open(OpenContext context) {
        state = getRuntimeContext().getState(new ValueStateDescriptor<>("chain", ChainState.class));
    }

    @Override
    public void processElement(Numbered record, Context context, Collector<Numbered> out) throws Exception {
        ChainState next = ChainState.next(state.value(), record, bytes);
        state.update(next);
        service.serve();
        out.collect(next.result(record));
    }
}
