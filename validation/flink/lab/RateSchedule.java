package edrp.lab;

import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * When each record is due: a rate that is piecewise constant, from a file of lines "epoch_ms records_per_second".
 *
 * <p>The file is looked at again several times a second, so that lines with later times may be appended while the job runs.
 * Records are due whether or not the job keeps up (an open loop): what is late piles up, as in a log.
 */
final class RateSchedule implements Serializable {
    private static final long LOOK_MS = 100;

    private final String file;
    private final double share;
    private transient long[] from;
    private transient double[] rate;
    private transient double[] before;
    private transient long size;
    private transient long looked;

    /** A schedule of `share` times the rates of the file. */
    RateSchedule(String file, double share) {
        this.file = file;
        this.share = share;
    }

    /** Milliseconds since 1970 at which a record is due; infinite if it is not, by what the file says now. */
    synchronized double due(long index) { // asked by the source's thread and by its timer
        look();
        int piece = from.length - 1;
        while (piece > 0 && before[piece] > index) {
            piece--;
        }
        return rate[piece] > 0 ? from[piece] + (index - before[piece]) * 1000 / rate[piece] : Double.POSITIVE_INFINITY;
    }

    /** Number of records that are due until a time in milliseconds since 1970. */
    synchronized long dueUntil(long time) {
        look();
        int piece = from.length - 1;
        while (piece > 0 && from[piece] > time) {
            piece--;
        }
        return (long) (before[piece] + rate[piece] * Math.max(0, time - from[piece]) / 1000);
    }

    private void look() {
        long now = System.currentTimeMillis();
        if (from != null && now - looked < LOOK_MS) {
            return;
        }
        looked = now;
        try {
            Path path = Path.of(file);
            if (from == null || Files.size(path) != size) {
                size = Files.size(path);
                read(Files.readAllLines(path));
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private void read(List<String> lines) {
        int count = lines.size();
        long[] times = new long[count];
        double[] rates = new double[count];
        double[] sums = new double[count];
        for (int i = 0; i < count; i++) {
            String[] words = lines.get(i).trim().split(" ");
            times[i] = Long.parseLong(words[0]);
            rates[i] = Double.parseDouble(words[1]) * share;
            sums[i] = i == 0 ? 0 : sums[i - 1] + rates[i - 1] * (times[i] - times[i - 1]) / 1000;
        }
        from = times;
        rate = rates;
        before = sums;
    }
}
