package edrp.live;

import java.util.*;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.*;
import org.apache.flink.metrics.*;
import org.apache.flink.runtime.state.*;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.functions.source.legacy.RichSourceFunction;
import org.apache.flink.streaming.api.operators.StreamingRuntimeContext;
import org.apache.flink.streaming.api.watermark.Watermark;

/**
 * Sends the plans of the control log, a step when all tasks of the one before are installed. Its state is where a plan begins in
 * the log, and how many of its steps were sent: a checkpoint has waited for these, so after a restart they are done.
 */
@SuppressWarnings("deprecation") // what takes the place of such sources knows no lock under which state and output agree
final class ControlSource extends RichSourceFunction<Move> implements CheckpointedFunction {
    private static final long IDLE_MS = 50;
    private static final long BUSY_MS = 5;
    private final String uri;
    private transient ListState<long[]> position;
    private transient ListState<String> told;
    private transient Board board;
    private transient volatile long offset;
    private transient int sent;
    private transient volatile String plan;
    private transient volatile String steps;
    private volatile boolean running = true;

    ControlSource(String uri) { this.uri = uri; }

    @Override public void open(OpenContext context) {
        board = new Board(((StreamingRuntimeContext) getRuntimeContext()).getGlobalAggregateManager());
        steps = "";
        MetricGroup live = getRuntimeContext().getMetricGroup().addGroup("live");
        live.gauge("control", (Gauge<String>) () -> uri);
        live.gauge("plan", (Gauge<String>) () -> plan);
        live.gauge("steps", (Gauge<String>) () -> steps);
        live.gauge("offset", (Gauge<Long>) () -> offset); // plans that end before are over, also those of which `plan` forgot
    }

    @Override public void run(SourceContext<Move> context) throws Exception {
        context.emitWatermark(Watermark.MAX_WATERMARK); // never holds event time back
        long epoch = new Random().nextLong();
        ControlLog log = new ControlLog(uri);
        while (running) {
            ControlLog.Plan next = log.next(offset);
            if (next == null) {
                Thread.sleep(IDLE_MS);
                continue;
            }
            steps = "";
            while (running && sent < next.steps().size() && !log.isAborted(next)) {
                plan = state(next, "running");
                carryOut(next, epoch, context);
            }
            if (running) {
                plan = state(next, next.refused() ? "refused" : sent < next.steps().size() ? "aborted" : "done");
                synchronized (context.getCheckpointLock()) {
                    offset = next.end();
                    sent = 0;
                }
            }
        }
    }

    private String state(ControlLog.Plan next, String state) {
        return next.id() + " " + sent + " " + next.steps().size() + " " + state;
    }

    private void carryOut(ControlLog.Plan next, long epoch, SourceContext<Move> context) throws Exception {
        List<Move> moves = next.steps().get(sent);
        moves.forEach(move -> move.epoch = epoch);
        if (!moves.isEmpty()) {
            board.begin(moves.get(0));
        }
        long began = System.nanoTime();
        synchronized (context.getCheckpointLock()) {
            if (next.pause()) {
                moves.stream().map(move -> move.operator).distinct().forEach(name -> context.collect(moves.get(0).pause(name)));
            }
            moves.forEach(context::collect);
            sent++;
        }
        HashMap<String, String> notes = board.read();
        while (running && !moves.stream().allMatch(move -> Board.done(notes, move) != null)) {
            Thread.sleep(BUSY_MS);
            notes.putAll(board.read());
        }
        long[] sums = new long[4]; // bytes, held tuples, longest wait, refused
        for (Move move : moves) {
            String report = Board.done(notes, move);
            for (int i = 0; report != null && i < sums.length; i++) {
                long value = Long.parseLong(report.split(" ")[i]);
                sums[i] = i == 2 ? Math.max(sums[i], value) : sums[i] + value;
            }
        }
        double seconds = (System.nanoTime() - began) / 1e9;
        steps += (sent - 1) + " " + seconds + " " + sums[0] + " " + sums[1] + " " + sums[2] + " " + sums[3] + ";";
    }

    @Override public void cancel() { running = false; }

    @Override public void snapshotState(FunctionSnapshotContext context) throws Exception {
        position.update(List.of(new long[] {offset, sent}));
        told.update(List.of(plan)); // who waits for its end may ask after a restart only
    }

    @Override public void initializeState(FunctionInitializationContext context) throws Exception {
        told = context.getOperatorStateStore().getListState(new ListStateDescriptor<>("told", String.class));
        plan = "";
        for (String text : told.get()) {
            plan = text;
        }
        position = context.getOperatorStateStore().getListState(new ListStateDescriptor<>("position", long[].class));
        for (long[] place : position.get()) {
            offset = place[0];
            sent = (int) place[1];
        }
    }
}
