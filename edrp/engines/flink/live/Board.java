package edrp.live;

import java.io.IOException;
import java.util.HashMap;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.runtime.taskexecutor.GlobalAggregateManager;

/**
 * Notes in the JobManager that all parts of the job see: addresses of workers, and what is done of the running step. They are lost
 * when it ends, and need not survive: workers write anew, and a step that a checkpoint has seen begin is done in it.
 */
final class Board implements AggregateFunction<String[], HashMap<String, String>, HashMap<String, String>> {
    private static final String DONE = "done ";
    private static final String STEP = "step";
    private final transient GlobalAggregateManager manager;

    Board(GlobalAggregateManager manager) { this.manager = manager; }

    /** All notes, once this one, a name and what it says, is written. */
    HashMap<String, String> write(String... note) throws IOException { return manager.updateGlobalAggregate("edrp-live", note, this); }

    HashMap<String, String> read() throws IOException { return write(); }

    /** A step begins: what was done of others is forgotten. */
    void begin(Move move) throws IOException { write(STEP, move.epoch + " " + move.first); }

    /** A task is installed, or its move refused: bytes, tuples that waited, milliseconds that it took, and 1 if it was refused. */
    void done(Move move, long bytes, long held, long millis, int refused) throws IOException {
        write(DONE + move.epoch + " " + move.version, bytes + " " + held + " " + millis + " " + refused);
    }

    static String done(HashMap<String, String> notes, Move move) { return notes.get(DONE + move.epoch + " " + move.version); }

    /** Whether all of the step are installed that a move belongs to, also where another has begun since. */
    static boolean isOver(HashMap<String, String> notes, Move move) {
        long done = notes.keySet().stream().filter(note -> note.startsWith(DONE + move.epoch + " ")).count();
        return !(move.epoch + " " + move.first).equals(notes.get(STEP)) || done > move.last - move.first;
    }

    @Override public HashMap<String, String> createAccumulator() { return new HashMap<>(); }

    @Override public HashMap<String, String> add(String[] note, HashMap<String, String> notes) {
        if (note.length == 2) {
            notes.keySet().removeIf(key -> note[0].equals(STEP) && key.startsWith(DONE));
            notes.put(note[0], note[1]);
        }
        return notes;
    }

    /** Of classes that the RPC of the JobManager knows. */
    @Override public HashMap<String, String> getResult(HashMap<String, String> notes) { return new HashMap<>(notes); }

    @Override public HashMap<String, String> merge(HashMap<String, String> one, HashMap<String, String> other) {
        throw new UnsupportedOperationException();
    }
}
