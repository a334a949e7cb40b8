package edrp.live;

import java.io.IOException;
import java.util.*;
import org.apache.flink.api.common.state.*;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.core.memory.*;
import org.apache.flink.runtime.state.internal.InternalValueState;
import org.apache.flink.streaming.api.operators.InternalTimerService;

/**
 * State and timers of the keys of a task, the current one of the backend: keyed state with the user's key as namespace, an index of
 * the keys, and their timers. Each state is an entry of its own, so that the heap backend copies no more after a snapshot.
 */
final class TaskState<K, S> {
    private static final int CHUNK = 1 << 18;
    private final TypeSerializer<K> keys;
    private final TypeSerializer<S> states;
    private final InternalValueState<TaskKey, K, S> values;
    private final MapState<K, Long> written; // the index; times are 0 where states live for ever
    private final List<MapState<K, long[]>> timers = new ArrayList<>(); // event time, processing time
    private final InternalTimerService<K> service;
    private final long timeToLive;

    TaskState(KeyedStateStore store, InternalValueState<TaskKey, K, S> values, TypeSerializer<K> keys, TypeSerializer<S> states,
            InternalTimerService<K> service, long timeToLive) {
        this.keys = keys;
        this.states = states;
        this.values = values;
        this.service = service;
        this.timeToLive = timeToLive;
        written = store.getMapState(new MapStateDescriptor<>("keys", keys, Types.LONG.createSerializer(null)));
        for (String name : List.of("event timers", "processing timers")) {
            timers.add(store.getMapState(new MapStateDescriptor<>(name, keys,
                    org.apache.flink.api.common.typeutils.base.array.LongPrimitiveArraySerializer.INSTANCE)));
        }
    }

    S get(K key) throws Exception {
        values.setCurrentNamespace(key);
        S state = values.value();
        return state == null || timeToLive > 0 && isExpired(written.get(key)) ? null : state;
    }

    private boolean isExpired(Long time) {
        return time == null || time + timeToLive <= service.currentProcessingTime();
    }

    /** Writes the next state of a key, and returns by how many the keys become more. */
    int put(K key, S before, S after) throws Exception {
        values.setCurrentNamespace(key);
        if (after == null) {
            values.clear();
            written.remove(key);
            return before == null ? 0 : -1;
        }
        values.update(after);
        if (before == null || timeToLive > 0) {
            written.put(key, timeToLive > 0 ? service.currentProcessingTime() : 0);
        }
        return before == null ? 1 : 0;
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

    boolean isEmpty() throws Exception {
        return written.isEmpty();
    }

    /** Bytes of a state with its key. */
    int size(K key, S state, DataOutputSerializer scratch) throws IOException {
        scratch.clear();
        keys.serialize(key, scratch);
        states.serialize(state, scratch);
        return scratch.length();
    }

    void register(K key, long time, boolean event) throws Exception {
        long[] times = times(key, event);
        if (Arrays.stream(times).noneMatch(other -> other == time)) {
            times = Arrays.copyOf(times, times.length + 1);
            times[times.length - 1] = time;
            timers.get(event ? 0 : 1).put(key, times);
        }
        schedule(key, time, event);
    }

    private void schedule(K key, long time, boolean event) {
        if (event) {
            service.registerEventTimeTimer(key, time);
        } else {
            service.registerProcessingTimeTimer(key, time);
        }
    }

    private long[] times(K key, boolean event) throws Exception {
        long[] times = timers.get(event ? 0 : 1).get(key);
        return times == null ? new long[0] : times;
    }

    /** Takes a timer out, because it fires or is not wanted; whether there was one. */
    boolean unregister(K key, long time, boolean event) throws Exception {
        long[] times = times(key, event);
        long[] others = Arrays.stream(times).filter(other -> other != time).toArray();
        if (others.length == 0) {
            timers.get(event ? 0 : 1).remove(key);
        } else {
            timers.get(event ? 0 : 1).put(key, others);
        }
        if (event) {
            service.deleteEventTimeTimer(key, time);
        } else {
            service.deleteProcessingTimeTimer(key, time);
        }
        return others.length < times.length;
    }

    /** Event timers up to a time, in order. */
    List<Map.Entry<K, Long>> dueTimers(long until) throws Exception {
        List<Map.Entry<K, Long>> due = new ArrayList<>();
        for (Map.Entry<K, long[]> entry : timers.get(0).entries()) {
            Arrays.stream(entry.getValue()).filter(time -> time <= until).forEach(time -> due.add(Map.entry(entry.getKey(), time)));
        }
        due.sort(Map.Entry.comparingByValue());
        return due;
    }

    /** What a task takes along, piece by piece; afterwards nothing of it is left. */
    final class Departure {
        private final Iterator<Map.Entry<K, Long>> rest = written.iterator();
        final List<byte[]> chunks = new ArrayList<>();

        Departure() throws Exception {}

        /** Serialises some of it; whether that was the last. */
        boolean proceed() throws Exception {
            DataOutputSerializer out = new DataOutputSerializer(CHUNK + CHUNK / 4);
            while (rest.hasNext() && out.length() < CHUNK) {
                Map.Entry<K, Long> entry = rest.next();
                values.setCurrentNamespace(entry.getKey());
                out.writeByte(2);
                keys.serialize(entry.getKey(), out);
                out.writeLong(entry.getValue());
                states.serialize(values.value(), out);
                values.clear();
            }
            boolean done = !rest.hasNext();
            for (int kind = 0; done && kind < 2; kind++) {
                List<K> timed = new ArrayList<>();
                timers.get(kind).keys().forEach(timed::add);
                for (K key : timed) {
                    for (long time : times(key, kind == 0)) {
                        out.writeByte(kind);
                        keys.serialize(key, out);
                        out.writeLong(time);
                        unregister(key, time, kind == 0);
                    }
                }
            }
            if (done) {
                written.clear();
            }
            chunks.add(out.getCopyOfBuffer());
            return done;
        }
    }

    void install(byte[] chunk) throws Exception {
        DataInputDeserializer in = new DataInputDeserializer(chunk);
        while (in.available() > 0) {
            int kind = in.readByte();
            K key = keys.deserialize(in);
            long time = in.readLong();
            if (kind == 2) {
                values.setCurrentNamespace(key);
                values.update(states.deserialize(in));
                written.put(key, time);
            } else {
                register(key, time, kind == 0);
            }
        }
    }
}
