package edrp.lab;

import edrp.live.Context;
import edrp.live.LiveFunction;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;

/** Counts the records of each key where its tasks may move. */
final class LiveCounter extends LiveFunction<Numbered, Integer, ChainState, Numbered> {
    private final Service service;
    private final int bytes;

    LiveCounter(Service service, int bytes) {
        this.service = service;
        this.bytes = bytes;
    }

    @Override
    public TypeInformation<Integer> keyType() {
        return Types.INT;
    }

    @Override
    public TypeInformation<ChainState> stateType() {
        return Types.POJO(ChainState.class);
    }

    @Override
    public TypeInformation<Numbered> resultType() {
        return Types.POJO(Numbered.class);
    }

    @Override
    public Integer key(Numbered record) {
        return record.key;
    }

    /** Tasks are ranges of keys in turn, so that a test knows what is where. */
    @Override
    public int task(Integer key, int tasks) {
        return key % tasks;
    }

    @Override
    public ChainState process(Integer key, ChainState state, Numbered record, Context<Integer, Numbered> context) {
        ChainState next = ChainState.next(state, record, bytes);
        service.serve();
        context.collect(next.result(record));
        return next;
    }
}
