package edrp.live;

import java.util.*;
import java.util.concurrent.*;
import java.util.stream.Collectors;
import org.apache.flink.api.common.operators.MailboxExecutor;
import org.apache.flink.api.common.state.*;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.metrics.*;
import org.apache.flink.runtime.execution.Environment;
import org.apache.flink.runtime.state.*;
import org.apache.flink.runtime.state.internal.InternalValueState;
import org.apache.flink.streaming.api.operators.*;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.types.Either;
import org.apache.flink.util.function.*;

/**
 * Holds tasks, and hands them over when markers say so: after OUT of all routers the old owner sends the state; from the first IN on
 * the new one keeps values of the task waiting, and installs the state when it has come, never before the first IN.
 *
 * <p>Aligned barriers come before or after a move at all routers alike. So a snapshot, which waits for states on their way, holds
 * each task once and no value in waiting; restoring and rescaling are Flink's own.
 */
final class Worker<I, K, S, O> extends AbstractStreamOperator<O>
        implements OneInputStreamOperator<Tuple2<TaskKey, Either<I, Move.Marker>>, O>, Triggerable<TaskKey, K> {
    private static final int SAMPLED = 16; // one of so many states is measured
    private static final int DRAINED = 4; // of what waits, for each value that comes
    private static final int TUPLES = 0; // places in what is measured of a task, which travels with it
    private static final int NANOS = 1;
    private static final int KEYS = 2;
    private static final int SIZE = 3;
    private final LiveFunction<I, K, S, O> function;
    private final LiveSettings settings;
    private final MailboxExecutor mailbox;
    private final Environment environment;
    private final Map<Long, Integer> outs = new HashMap<>(); // OUT markers by version
    private final Map<Long, Waiting<I>> arrivals = new HashMap<>(); // by version, from the first IN on
    private final Map<Long, Transfers.Parcel> early = new HashMap<>(); // states before the first IN
    private final Map<TaskKey, Waiting<I>> waiting = new ConcurrentHashMap<>();
    private final Map<TaskKey, long[]> loads = new ConcurrentHashMap<>();
    private final ScheduledExecutorService reporter = Executors.newSingleThreadScheduledExecutor();
    private final DataOutputSerializer scratch = new DataOutputSerializer(1 << 10);
    private final Set<TaskKey> departing = new HashSet<>();
    private Move pause;
    private Watermark delayed;
    private volatile long longestMillis;
    private transient TaskState<K, S> state;
    private transient ValueState<long[]> measured;
    private transient InternalTimerService<K> timers;
    private transient InternalTimerService<VoidNamespace> sweeps;
    private transient TimestampedCollector<O> results;
    private transient Transfers transfers;
    private transient Board board;
    private transient Counter moves;
    private transient Counter bytesOut;
    private transient Counter held;

    /** Values of a task that wait for its state, or for the end of a pause. */
    private static final class Waiting<I> {
        final Deque<StreamRecord<I>> values = new ArrayDeque<>();
        final long since = System.nanoTime();
        final TaskKey key;
        Move move; // null in a pause
        Transfers.Parcel parcel;
        boolean installed;
        boolean reported;
        int processed;

        Waiting(TaskKey key) { this.key = key; }
    }

    Worker(StreamOperatorParameters<O> parameters, LiveFunction<I, K, S, O> function, LiveSettings settings) {
        super(parameters);
        this.function = function;
        this.settings = settings;
        mailbox = parameters.getMailboxExecutor();
        environment = parameters.getContainingTask().getEnvironment();
    }

    @SuppressWarnings("unchecked")
    @Override public void open() throws Exception {
        super.open();
        Live.refuseCheckpointsOutOfLine(environment.getJobConfiguration());
        TypeSerializer<K> keys = function.keyType().createSerializer(getExecutionConfig().getSerializerConfig());
        TypeSerializer<S> states = function.stateType().createSerializer(getExecutionConfig().getSerializerConfig());
        timers = getInternalTimerService("timers", keys, this);
        sweeps = getInternalTimerService("sweeps", VoidNamespaceSerializer.INSTANCE, new Sweep());
        ValueState<S> values = getOrCreateKeyedState(keys, new ValueStateDescriptor<>("values", states));
        state = new TaskState<>(
                getKeyedStateStore(), (InternalValueState<TaskKey, K, S>) values, keys, states, timers, settings.timeToLive);
        measured = getRuntimeContext().getState(new ValueStateDescriptor<>("measured", long[].class));
        List<TaskKey> known;
        try (var stored = this.<TaskKey>getKeyedStateBackend().getKeys("measured", VoidNamespace.INSTANCE)) {
            known = stored.collect(Collectors.toList());
        }
        for (TaskKey key : known) {
            setCurrentKey(key);
            loads.put(key, measured.value().clone());
        }
        results = new TimestampedCollector<>(output);
        board = new Board(environment.getGlobalAggregateManager());
        transfers = new Transfers(settings.name, number(), environment.getTaskManagerInfo(), board,
                parcel -> mailbox.execute(() -> arrived(parcel), "a task arrives"),
                error -> mailbox.execute(() -> { throw error; }, "a task cannot be sent"));
        MetricGroup live = getMetricGroup().addGroup("live");
        live.gauge("operator", (Gauge<String>) () -> settings.name);
        live.gauge("tasks", (Gauge<Integer>) () -> settings.tasks);
        live.gauge("groups", (Gauge<Integer>) () -> settings.groups);
        live.gauge("waiting", (Gauge<Integer>) waiting::size);
        live.gauge("wait", (Gauge<Long>) () -> longestMillis);
        live.gauge("loads", (Gauge<String>) () ->
                loads.entrySet().stream().map(load -> text(load.getKey(), load.getValue())).collect(Collectors.joining(";")));
        moves = live.counter("moves");
        bytesOut = live.counter("bytes");
        held = live.counter("held");
        function.open(getRuntimeContext());
    }

    private static String text(TaskKey key, long[] load) {
        return key.task + ":" + load[TUPLES] + ":" + load[NANOS] / 1000 + ":" + load[SIZE] * load[KEYS] + ":" + load[KEYS];
    }

    private int number() { return getRuntimeContext().getTaskInfo().getIndexOfThisSubtask(); }

    @Override public void processElement(StreamRecord<Tuple2<TaskKey, Either<I, Move.Marker>>> record) throws Exception {
        TaskKey key = record.getValue().f0;
        if (record.getValue().f1.isRight()) {
            take(record.getValue().f1.right(), key);
            return;
        }
        StreamRecord<I> value = new StreamRecord<>(record.getValue().f1.left());
        if (record.hasTimestamp()) {
            value.setTimestamp(record.getTimestamp());
        }
        Waiting<I> task = pause == null ? waiting.get(key) : waiting.computeIfAbsent(key, Waiting::new);
        if (task == null) {
            process(value, key);
        } else {
            task.values.add(value);
        }
    }

    private void take(Move.Marker marker, TaskKey key) throws Exception {
        Move move = marker.move;
        if (move.task < 0) {
            suspend(move);
        } else if (!marker.in) {
            if (outs.merge(move.version, 1, Integer::sum) == marker.routers) {
                outs.remove(move.version);
                depart(move, key);
            }
        } else if (!arrivals.containsKey(move.version)) {
            arrivals.keySet().removeIf(version -> version < move.first); // of steps that are over
            early.keySet().removeIf(version -> version < move.first);
            Waiting<I> task = waiting.computeIfAbsent(key, Waiting::new);
            task.move = move;
            task.parcel = early.remove(move.version);
            arrivals.put(move.version, task);
            if (task.parcel != null) {
                install(task, 0);
            }
        }
    }

    private void depart(Move move, TaskKey key) throws Exception {
        Waiting<I> task = waiting.remove(key);
        if (task != null && task.move != null && !task.installed) {
            throw new IllegalStateException("task " + move.task + " moves on before it has come: a step has begun too early");
        }
        if (task != null) { // it has come a moment ago, or there is a pause: what came before the markers belongs here
            for (StreamRecord<I> value; (value = task.values.poll()) != null; ) {
                process(value, key);
            }
            report(task);
        }
        if (settings.timeToLive > 0 && loads.containsKey(key)) {
            loads.get(key)[KEYS] -= state.expire(); // what moves more often than it is swept
        }
        departing.add(key);
        proceed(move, key, state.new Departure());
    }

    private void proceed(Move move, TaskKey key, TaskState<K, S>.Departure departure) throws Exception {
        setCurrentKey(key);
        if (!departure.proceed()) {
            mailbox.execute(() -> proceed(move, key, departure), "a task departs");
            return;
        }
        measured.clear();
        long[] load = loads.remove(key);
        var parcel = new Transfers.Parcel(move.version, load == null ? new long[4] : load, departure.chunks);
        bytesOut.inc(parcel.bytes());
        int workers = getRuntimeContext().getTaskInfo().getNumberOfParallelSubtasks();
        int target = KeyGroupRangeAssignment.computeOperatorIndexForKeyGroup(settings.groups, workers, move.to);
        if (target == number()) {
            mailbox.execute(() -> arrived(parcel), "a task arrives");
        } else {
            transfers.send(target, move.pace > 0 ? move.pace : settings.bytesPerSecond, parcel);
        }
        departing.remove(key);
        releaseWatermark();
    }

    private void arrived(Transfers.Parcel parcel) throws Exception {
        Waiting<I> task = arrivals.get(parcel.version());
        if (task == null) { // it may belong behind a barrier that has not come yet
            early.put(parcel.version(), parcel);
        } else if (task.parcel == null) { // else it was sent twice
            task.parcel = parcel;
            install(task, 0);
        }
    }

    private void install(Waiting<I> task, int chunk) throws Exception {
        setCurrentKey(task.key);
        if (chunk < task.parcel.chunks().size()) {
            state.install(task.parcel.chunks().get(chunk));
            mailbox.execute(() -> install(task, chunk + 1), "a task is installed");
            return;
        }
        loads.put(task.key, task.parcel.load());
        measured.update(task.parcel.load().clone());
        sweepLater();
        task.installed = true;
        fire(task.key, timers.currentWatermark()); // due before all that waits
        if (pause == null) {
            drain(task);
        } else {
            report(task);
        }
    }

    /** Processes what waits, a few values at a time: others do not wait for all of it, and fewer come meanwhile. */
    private void drain(Waiting<I> task) throws Exception {
        StreamRecord<I> value = null;
        for (int i = 0; i < DRAINED && (value = task.values.poll()) != null; i++) {
            process(value, task.key);
            task.processed++;
        }
        if (value != null) {
            mailbox.execute(() -> drain(task), "values have waited");
        } else if (pause == null && waiting.remove(task.key, task)) {
            report(task);
            releaseWatermark();
        }
    }

    private void report(Waiting<I> task) {
        if (task.move != null && !task.reported) {
            task.reported = true;
            long millis = (System.nanoTime() - task.since) / 1_000_000;
            long count = task.processed + task.values.size();
            longestMillis = Math.max(longestMillis, millis);
            moves.inc();
            held.inc(count);
            long bytes = task.parcel.bytes();
            task.parcel.chunks().clear();
            later(0, () -> board.done(task.move, bytes, count, millis, 0));
        }
    }

    /** Asks or tells the JobManager without waiting for it; where it has ended, the job starts again. */
    private void later(long millis, ThrowingRunnable<Exception> note) {
        reporter.schedule(() -> {
            try {
                note.run();
            } catch (Exception error) {
                LOG.warn("A note on a move does not reach the JobManager; it is sent again.", error);
                later(1000, note); // a step ends, and a pause, when all are there
            }
        }, millis, TimeUnit.MILLISECONDS);
    }

    /** Suspends everything until all tasks of a step are installed (section 5.1 of the paper). */
    private void suspend(Move step) {
        if (pause == null || pause.first < step.first) {
            pause = step;
            later(0, () -> lookForEnd(step));
        }
    }

    private void lookForEnd(Move step) throws Exception {
        if (Board.isOver(board.read(), step)) {
            mailbox.execute(() -> resume(step), "the end of a pause");
        } else {
            later(5, () -> lookForEnd(step));
        }
    }

    private void resume(Move step) throws Exception {
        if (pause == step) {
            pause = null;
            for (Waiting<I> task : List.copyOf(waiting.values())) {
                if (task.move == null || task.installed) {
                    drain(task);
                }
            }
            releaseWatermark();
        }
    }

    private void process(StreamRecord<I> value, TaskKey task) throws Exception {
        setCurrentKey(task);
        K key = function.key(value.getValue());
        step(task, key, value.hasTimestamp() ? value.getTimestamp() : null,
                (before, context) -> function.process(key, before, value.getValue(), context));
    }

    private void step(TaskKey task, K key, Long timestamp, BiFunctionWithException<S, Context<K, O>, S, Exception> next)
            throws Exception {
        long began = System.nanoTime();
        long[] load = loads.get(task);
        if (load == null) {
            load = new long[4];
            loads.put(task, load);
            measured.update(load.clone());
        }
        S before = state.get(key);
        S after = next.apply(before, new Context<>(state, timers, results, key, timestamp));
        load[KEYS] += state.put(key, before, after);
        if (after != null && load[TUPLES] % SAMPLED == 0) {
            long seen = Math.min(SAMPLED, 1 + load[TUPLES] / SAMPLED);
            load[SIZE] += (state.size(key, after, scratch) - load[SIZE]) / seen;
        }
        if (before == null && after != null) {
            sweepLater();
        }
        load[TUPLES]++;
        load[NANOS] += System.nanoTime() - began;
    }

    @Override public void onEventTime(InternalTimer<TaskKey, K> timer) throws Exception {
        fire(timer.getKey(), timer.getNamespace(), timer.getTimestamp(), TaskState.EVENT);
    }

    @Override public void onProcessingTime(InternalTimer<TaskKey, K> timer) throws Exception {
        if (!departing.contains(timer.getKey())) { // else it goes along, and fires there
            fire(timer.getKey(), timer.getNamespace(), timer.getTimestamp(), TaskState.PROCESSING);
        }
    }

    private void fire(TaskKey task, K key, long time, int kind) throws Exception {
        if (state.unregister(key, time, kind)) {
            step(task, key, kind == TaskState.EVENT ? time : null, (before, around) -> function.onTimer(key, before, time, around));
        }
    }

    /** Fires the event timers of a task that are due; what they register for a time that is due fires as well. */
    private void fire(TaskKey task, long until) throws Exception {
        setCurrentKey(task);
        for (List<Map.Entry<K, Long>> due; !(due = state.timersUntil(until, TaskState.EVENT)).isEmpty(); ) {
            for (Map.Entry<K, Long> timer : due) {
                fire(task, timer.getKey(), timer.getValue(), TaskState.EVENT);
            }
        }
    }

    /** Of the current task: states are looked at whether their time is over, once in each such time. */
    private void sweepLater() throws Exception {
        if (settings.timeToLive > 0 && !state.isEmpty()) {
            long turn = sweeps.currentProcessingTime() / settings.timeToLive + 2;
            sweeps.registerProcessingTimeTimer(VoidNamespace.INSTANCE, turn * settings.timeToLive);
        }
    }

    private final class Sweep implements Triggerable<TaskKey, VoidNamespace> {
        @Override public void onEventTime(InternalTimer<TaskKey, VoidNamespace> timer) {}

        @Override public void onProcessingTime(InternalTimer<TaskKey, VoidNamespace> timer) throws Exception {
            long[] load = loads.get(timer.getKey());
            if (load != null && !departing.contains(timer.getKey())) { // else it is swept where it has gone to
                load[KEYS] -= state.expire();
                sweepLater();
            }
        }
    }

    private boolean isBusy() { return !outs.isEmpty() || !waiting.isEmpty() || !departing.isEmpty() || pause != null; }

    /** A watermark waits from the first marker of a move on: behind it, values before that time may go to the new owner. */
    @Override public void processWatermark(Watermark watermark) throws Exception {
        delayed = watermark;
        releaseWatermark();
    }

    private void releaseWatermark() throws Exception {
        if (delayed != null && !isBusy()) {
            Watermark watermark = delayed;
            delayed = null;
            super.processWatermark(watermark);
        }
    }

    /** A snapshot waits for states on their way. Nobody waits for another in a circle: who has come to a barrier has sent all. */
    @Override public void prepareSnapshotPreBarrier(long checkpoint) throws Exception {
        finish();
        for (Map.Entry<TaskKey, long[]> load : loads.entrySet()) {
            setCurrentKey(load.getKey());
            measured.update(load.getValue().clone());
        }
    }

    @Override public void finish() throws Exception {
        while (isBusy()) {
            mailbox.yield();
        }
    }

    @Override public void close() throws Exception {
        reporter.shutdownNow();
        if (transfers != null) {
            transfers.close();
        }
        super.close();
    }
}
