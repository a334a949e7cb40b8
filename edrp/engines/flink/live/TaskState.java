package edrp.live;

import java.io.IOException;
import java.util.*;
import org.apache.flink.api.common.state.*;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.api.common.typeutils.base.array.LongPrimitiveArraySerializer;
import org.apache.flink.core.memory.*;
import org.apache.flink.runtime.state.internal.InternalValueState;
import org.apache.flink.streaming.api.operators.InternalTimerService;

/**
 * State and timers of the keys of a task, the current one of the backend: keyed state with the user's key as namespace, an index of
 * the keys, and their timers. Each state is an entry of its own, so that the heap backend copies no more after a snapshot.
 */
final class TaskState<K, S> {
    static final int EVENT = 0;
    static final int PROCESSING = 1;
    private static final int VALUE = 2;
    private static final int CHUNK = 1 << 18;
    private final TypeSerializer<K> keys;
    private final TypeSerializer<S> states;
    private final InternalValueState<TaskKey, K, S> values;
    private final MapState<K, Long> written; // the index, with the time of the last write where states do not live for ever
    private final List<MapState<K, long[]>> timers; // by event time, and by processing time
    private final InternalTimerService<K> service;
    private final long timeToLive;

    TaskState(KeyedStateStore store, InternalValueState<TaskKey, K, S> values, TypeSerializer<K> keys, TypeSerializer<S> states,
            InternalTimerService<K> service, long timeToLive) {
        this.keys = keys;
        this.states = states;
        this.values = values;
        this.service = service;
        this.timeToLive = timeToLive;
        written = store.getMapState(new MapStateDescriptor<>("keys", keys, LongSerializer.INSTANCE));
        timers = List.of(
                store.getMapState(new MapStateDescriptor<>("event timers", keys, LongPrimitiveArraySerializer.INSTANCE)),
                store.getMapState(new MapStateDescriptor<>("processing timers", keys, LongPrimitiveArraySerializer.INSTANCE)));
    }

    S get(K key) throws Exception {
        values.setCurrentNamespace(key);
        S state = values.value();
        return state == null || timeToLive > 0 && isExpired(written.get(key)) ? null : state;
    }

    private boolean isExpired(long time) { return time + timeToLive <= service.currentProcessingTime(); }

    /** Writes the next state of a key, and returns by how many the keys become more. */
    int put(K key, S before, S after) throws Exception {
        int known = before != null || timeToLive > 0 && written.contains(key) ? 1 : 0; // also one whose time is over
        values.setCurrentNamespace(key);
        if (after == null) {
            values.clear();
            written.remove(key);
        } else {
            values.update(after);
            if (before == null || timeToLive > 0) {
                written.put(key, timeToLive > 0 ? service.currentProcessingTime() : 0);
            }
        }
        return (after == null ? 0 : 1) - known;
    }

    /** Removes the states whose time is over, and returns how many. */
    int expire() throws Exception {
        List<K> expired = new ArrayList<>();
        for (Map.Entry<K, Long> entry : written.entries()) {
            if (isExpired(entry.getValue())) {
                expired.add(entry.getKey());
            }
        }
        for (K key : expired) {
            put(key, null, null);
        }
        return expired.size();
    }

    boolean isEmpty() throws Exception { return written.isEmpty(); }

    /** Bytes of a state with its key. */
    int size(K key, S state, DataOutputSerializer scratch) throws IOException {
        scratch.clear();
        keys.serialize(key, scratch);
        states.serialize(state, scratch);
        return scratch.length();
    }

    void register(K key, long time, int kind) throws Exception {
        Set<Long> times = times(key, kind);
        if (times.add(time)) {
            timers.get(kind).put(key, times.stream().mapToLong(Long::longValue).toArray());
        }
        if (kind == EVENT) {
            service.registerEventTimeTimer(key, time);
        } else {
            service.registerProcessingTimeTimer(key, time);
        }
    }

    /** Takes a timer out, because it fires or is not wanted; whether there was one. */
    boolean unregister(K key, long time, int kind) throws Exception {
        Set<Long> times = times(key, kind);
        boolean known = times.remove(time);
        if (times.isEmpty()) {
            timers.get(kind).remove(key);
        } else {
            timers.get(kind).put(key, times.stream().mapToLong(Long::longValue).toArray());
        }
        if (kind == EVENT) {
            service.deleteEventTimeTimer(key, time);
        } else {
            service.deleteProcessingTimeTimer(key, time);
        }
        return known;
    }

    private Set<Long> times(K key, int kind) throws Exception {
        Set<Long> times = new TreeSet<>();
        long[] stored = timers.get(kind).get(key);
        for (int i = 0; stored != null && i < stored.length; i++) {
            times.add(stored[i]);
        }
        return times;
    }

    /** Timers up to a time, in order. */
    List<Map.Entry<K, Long>> timersUntil(long time, int kind) throws Exception {
        List<Map.Entry<K, Long>> found = new ArrayList<>();
        for (Map.Entry<K, long[]> entry : timers.get(kind).entries()) {
            Arrays.stream(entry.getValue()).filter(own -> own <= time).forEach(own -> found.add(Map.entry(entry.getKey(), own)));
        }
        found.sort(Map.Entry.comparingByValue());
        return found;
    }

    /** What a task takes along, piece by piece; afterwards nothing of it is left. */
    final class Departure {
        private final Iterator<Map.Entry<K, Long>> rest = written.iterator();
        final List<byte[]> chunks = new ArrayList<>();

        Departure() throws Exception {}

        /** Serialises some of it; whether that was the last. */
        boolean proceed() throws Exception {
            DataOutputSerializer out = new DataOutputSerializer(CHUNK);
            while (rest.hasNext() && out.length() < CHUNK) {
                Map.Entry<K, Long> entry = rest.next();
                write(VALUE, entry, out);
                values.setCurrentNamespace(entry.getKey());
                states.serialize(values.value(), out);
                values.clear();
            }
            boolean last = !rest.hasNext();
            for (int kind = EVENT; last && kind <= PROCESSING; kind++) {
                for (Map.Entry<K, Long> timer : timersUntil(Long.MAX_VALUE, kind)) {
                    write(kind, timer, out);
                    unregister(timer.getKey(), timer.getValue(), kind);
                }
            }
            if (last) {
                written.clear();
            }
            chunks.add(out.getCopyOfBuffer());
            return last;
        }

        private void write(int kind, Map.Entry<K, Long> entry, DataOutputSerializer out) throws IOException {
            out.writeByte(kind);
            keys.serialize(entry.getKey(), out);
            out.writeLong(entry.getValue());
        }
    }

    void install(byte[] chunk) throws Exception {
        DataInputDeserializer in = new DataInputDeserializer(chunk);
        while (in.available() > 0) {
            int kind = in.readByte();
            K key = keys.deserialize(in);
            long time = in.readLong();
            if (kind == VALUE) {
                values.setCurrentNamespace(key);
                values.update(states.deserialize(in));
                written.put(key, time);
            } else {
                register(key, time, kind);
            }
        }
    }
}
