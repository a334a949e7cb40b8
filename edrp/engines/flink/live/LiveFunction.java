package edrp.live;

import java.io.Serializable;
import org.apache.flink.api.common.functions.RuntimeContext;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.util.MathUtils;

/**
 * What a user implements: the next state of a key; the library decides where it is kept, and moves it.
 *
 * @param <I> values of the stream
 * @param <K> keys, with `equals` and a `hashCode` that is the same in every process
 * @param <S> state of a key
 * @param <O> results
 */
public abstract class LiveFunction<I, K, S, O> implements Serializable {
    public abstract TypeInformation<K> keyType();

    public abstract TypeInformation<S> stateType();

    public abstract TypeInformation<O> resultType();

    public abstract K key(I value);

    /** The task of a key, from 0 to `tasks` - 1; always the same for a key. */
    public int task(K key, int tasks) { return Math.floorMod(MathUtils.murmurHash(key.hashCode()), tasks); }

    /** Called before the first value. */
    public void open(RuntimeContext context) throws Exception {}

    /** The next state of a key, null for none; it has none yet where `state` is null. */
    public abstract S process(K key, S state, I value, Context<K, O> context) throws Exception;

    /** The next state of a key when one of its timers is due. */
    public S onTimer(K key, S state, long time, Context<K, O> context) throws Exception { return state; }
}
