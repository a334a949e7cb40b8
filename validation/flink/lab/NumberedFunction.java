package edrp.lab;

import edrp.live.LiveFunction;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;

/** A live operator from numbered records to numbered records. Keys are in tasks by turns, so that a test knows what is where. */
abstract class NumberedFunction<S> extends LiveFunction<Numbered, Integer, S, Numbered> {
    private final Class<S> state;

    NumberedFunction(Class<S> state) {
        this.state = state;
    }

    @Override
    public TypeInformation<Integer> keyType() {
        return Types.INT;
    }

    @Override
    public TypeInformation<S> stateType() {
        return TypeInformation.of(state);
    }

    @Override
    public TypeInformation<Numbered> resultType() {
        return Types.POJO(Numbered.class);
    }

    @Override
    public Integer key(Numbered record) {
        return record.key;
    }

    @Override
    public int task(Integer key, int tasks) {
        return key % tasks;
    }
}
