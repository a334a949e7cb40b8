package edrp.live;

import java.io.IOException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.regex.*;
import org.apache.flink.core.fs.*;

/** Reads plans from the append-only control log, each when its last line is there; one that was torn is passed over. */
final class ControlLog {
    private static final Pattern HEAD = Pattern.compile("(?m)^plan (\\S+) (\\d+) \\d+ (\\S+) (live|pause)$");
    private static final int MOST = 1 << 23;
    private final Path path;
    private long version; // of the last move since the job started: workers know moves by it

    /** A plan: its moves by step, and where the log goes on behind it. One that makes no sense is refused, and has no steps. */
    record Plan(String id, boolean pause, boolean refused, List<List<Move>> steps, long end) {}

    ControlLog(String uri) { path = new Path(uri); }

    /** The next plan that is complete from a place of the log on; null where there is none yet. */
    Plan next(long offset) throws IOException {
        String text = read(offset);
        for (Matcher head = HEAD.matcher(text); head.find(); ) {
            String last = "\nend " + head.group(1) + "\n";
            int end = text.indexOf(last, head.end());
            int other = text.indexOf("\nplan ", head.end());
            if (end >= 0 && (other < 0 || end < other)) {
                return plan(head, text.substring(head.end(), end).split("\n"), offset + end + last.length());
            }
        }
        return null;
    }

    /** Whether a line behind a plan aborts it. */
    boolean isAborted(Plan plan) throws IOException { return ("\n" + read(plan.end)).contains("\nabort " + plan.id + "\n"); }

    private String read(long offset) throws IOException {
        FileSystem files = path.getFileSystem();
        if (!files.exists(path) || files.getFileStatus(path).getLen() <= offset) {
            return "";
        }
        try (FSDataInputStream in = files.open(path)) {
            in.seek(offset);
            return new String(in.readNBytes(MOST), StandardCharsets.ISO_8859_1); // a character is a byte
        }
    }

    private Plan plan(Matcher head, String[] lines, long end) {
        List<List<Move>> steps = new ArrayList<>();
        Set<String> moved = new HashSet<>();
        try {
            for (String line : lines) {
                String[] words = line.split(" ");
                if (words[0].equals("step")) {
                    steps.add(new ArrayList<>());
                    moved.clear();
                } else if (words[0].equals("move")) {
                    List<Move> step = steps.get(steps.size() - 1);
                    Move move = move(words, Double.parseDouble(head.group(3)));
                    boolean follows = step.isEmpty() ? move.version > version : move.version == version + 1;
                    if (move.task < 0 || !follows || !moved.add(words[2] + " " + words[3])) {
                        throw new IllegalArgumentException("a task moves twice in a step, or workers would take the move for another");
                    }
                    version = move.version;
                    step.add(move);
                }
            }
            if (steps.size() == Integer.parseInt(head.group(2))) {
                steps.forEach(ControlLog::number);
                return new Plan(head.group(1), head.group(4).equals("pause"), false, steps, end);
            }
        } catch (IllegalArgumentException | IndexOutOfBoundsException error) {
            // refused, as one whose steps are not as many as it says
        }
        return new Plan(head.group(1), false, true, List.of(), end);
    }

    private static Move move(String[] words, double pace) {
        Move move = new Move();
        move.version = Long.parseLong(words[1]);
        move.operator = URLDecoder.decode(words[2], StandardCharsets.UTF_8);
        move.task = Integer.parseInt(words[3]);
        move.from = Integer.parseInt(words[4]);
        move.to = Integer.parseInt(words[5]);
        move.pace = pace;
        return move;
    }

    private static void number(List<Move> step) {
        for (Move move : step) {
            move.first = step.get(0).version;
            move.last = step.get(step.size() - 1).version;
        }
    }
}
