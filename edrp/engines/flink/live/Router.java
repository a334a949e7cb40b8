package edrp.live;

import java.util.Arrays;
import java.util.stream.Collectors;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.*;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.metrics.*;
import org.apache.flink.runtime.execution.SuppressRestartsException;
import org.apache.flink.runtime.state.*;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.functions.co.BroadcastProcessFunction;
import org.apache.flink.streaming.api.operators.StreamingRuntimeContext;
import org.apache.flink.types.Either;
import org.apache.flink.util.Collector;

/** Sends each value to the worker that holds its task, by a table in broadcast state; a move puts OUT and IN in line with them. */
final class Router<I, K> extends BroadcastProcessFunction<I, Move, Tuple2<TaskKey, Either<I, Move.Marker>>>
        implements CheckpointedFunction {
    static final MapStateDescriptor<Integer, Integer> TABLE = new MapStateDescriptor<>("table", Types.INT, Types.INT);
    private final LiveFunction<I, K, ?, ?> function;
    private final LiveSettings settings;
    private transient TaskKey[] table;
    private transient int[] hashes;
    private transient Counter refused;
    private transient Board board;

    Router(LiveFunction<I, K, ?, ?> function, LiveSettings settings) {
        this.function = function;
        this.settings = settings;
    }

    /** The whole table is state from the start: what a program would compute after a restart may be another one. */
    @Override public void initializeState(FunctionInitializationContext context) throws Exception {
        BroadcastState<Integer, Integer> state = context.getOperatorStateStore().getBroadcastState(TABLE);
        int[] first = settings.firstTable();
        hashes = TaskKey.hashes(settings.groups);
        table = new TaskKey[settings.tasks];
        for (int task = 0; task < table.length; task++) {
            Integer group = state.get(task);
            if (context.isRestored() && group == null || state.contains(table.length)) {
                throw new SuppressRestartsException(
                        new IllegalStateException(settings.name + " was saved with another number of tasks than " + table.length));
            }
            table[task] = new TaskKey(task, group == null ? first[task] : group, hashes);
            state.put(task, table[task].group);
        }
    }

    @Override public void snapshotState(FunctionSnapshotContext context) {}

    @Override public void open(OpenContext context) {
        board = new Board(((StreamingRuntimeContext) getRuntimeContext()).getGlobalAggregateManager());
        MetricGroup live = getRuntimeContext().getMetricGroup().addGroup("live");
        live.gauge("router", (Gauge<String>) () -> settings.name);
        live.gauge("table", (Gauge<String>) () -> Arrays.stream(table).map(key -> "" + key.group).collect(Collectors.joining(",")));
        refused = live.counter("refused");
    }

    @Override public void processElement(I value, ReadOnlyContext context, Collector<Tuple2<TaskKey, Either<I, Move.Marker>>> out) {
        out.collect(Tuple2.of(table[function.task(function.key(value), table.length)], Either.Left(value)));
    }

    @Override public void processBroadcastElement(Move move, Context context, Collector<Tuple2<TaskKey, Either<I, Move.Marker>>> out)
            throws Exception {
        int routers = getRuntimeContext().getTaskInfo().getNumberOfParallelSubtasks();
        if (!move.operator.equals(settings.name)) {
            return;
        }
        if (move.task < 0) { // to all groups: a router does not know how many workers there are
            for (int group = 0; group < settings.groups; group++) {
                out.collect(Tuple2.of(new TaskKey(-1, group, hashes), Either.Right(move.marker(false, routers))));
            }
        } else if (fits(move)) {
            TaskKey to = new TaskKey(move.task, move.to, hashes);
            out.collect(Tuple2.of(table[move.task], Either.Right(move.marker(false, routers))));
            out.collect(Tuple2.of(to, Either.Right(move.marker(true, routers))));
            context.getBroadcastState(TABLE).put(move.task, move.to);
            table[move.task] = to;
        } else { // a wrong command must not end the job
            refused.inc();
            board.done(move, 0, 0, 0, 1);
        }
    }

    private boolean fits(Move move) {
        boolean known = move.task < table.length && move.to >= 0 && move.to < settings.groups && move.to != move.from;
        return known && table[move.task].group == move.from;
    }
}
