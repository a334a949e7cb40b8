package edrp.lab;

import edrp.live.LiveFunction;
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
    public PatternState process(Long pattern, PatternState state, PatternChange change, Context<O> context) {
        PatternState next = PatternState.next(state, change, bytes);
        service.serve();
        boolean now = next != null && holds(next);
        if (now != (state != null && holds(state))) {
            report(change.due, pattern, now ? 1 : -1, context);
        }
        return next;
    }

    /** What the operator tells changes of. */
    abstract boolean holds(PatternState state);

    abstract void report(long due, long pattern, int change, Context<O> context);
}
