package edrp.lab;

import edrp.live.Context;
import edrp.live.LiveFunction;
import java.util.function.Consumer;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;

/** An operator with a state for each pattern. */
abstract class PatternFunction<O> extends LiveFunction<PatternChange, Long, PatternState, O> {
    private final Class<O> results;
    private final Service service;
    private final int bytes;

    PatternFunction(Class<O> results, Service service, int bytes) {
        this.results = results;
        this.service = service;
        this.bytes = bytes;
    }

    @Override
    public TypeInformation<Long> keyType() {
        return Types.LONG;
    }

    @Override
    public TypeInformation<PatternState> stateType() {
        return Types.POJO(PatternState.class);
    }

    @Override
    public TypeInformation<O> resultType() {
        return Types.POJO(results);
    }

    @Override
    public Long key(PatternChange change) {
        return change.pattern;
    }

    @Override
    public PatternState process(Long pattern, PatternState state, PatternChange change, Context<Long, O> context) {
        return next(state, change, context::collect);
    }

    PatternState next(PatternState state, PatternChange change, Consumer<O> out) {
        PatternState next = PatternState.next(state, change, bytes);
        service.serve();
        boolean now = next != null && holds(next);
        if (now != (state != null && holds(state))) {
            report(change.due, change.pattern, now ? 1 : -1, out);
        }
        return next;
    }

    /** What the operator tells changes of. */
    abstract boolean holds(PatternState state);

    abstract void report(long due, long pattern, int change, Consumer<O> out);
}
