package edrp.lab;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.metrics.Histogram;
import org.apache.flink.runtime.metrics.DescriptiveStatisticsHistogram;

/**
 * Measures how long after it was due each record arrives.
 *
 * <p>As metrics: the histogram latency_ms and the gauge silence_ms, the longest time without a record so far. In a file of
 * the folder, for each tenth of a second with records, "first_ms last_ms records mean_ms median_ms p95_ms max_ms".
 */
final class LatencySink implements Sink<Event> {
    private final String folder;

    LatencySink(String folder) {
        this.folder = folder;
    }

    @Override
    public SinkWriter<Event> createWriter(WriterInitContext context) throws IOException {
        return new Writer(context, Path.of(folder, "latency-" + context.getTaskInfo().getIndexOfThisSubtask() + ".txt"));
    }

    private static final class Writer implements SinkWriter<Event> {
        private static final long BUCKET_MS = 100;

        private final Histogram histogram = new DescriptiveStatisticsHistogram(1000);
        private final PrintWriter file;
        private long[] latencies = new long[64];
        private int count;
        private long first;
        private long last;
        private long silence;

        private Writer(WriterInitContext context, Path path) throws IOException {
            StandardOpenOption[] append = {StandardOpenOption.CREATE, StandardOpenOption.APPEND};
            file = new PrintWriter(Files.newBufferedWriter(path, StandardCharsets.US_ASCII, append), false);
            context.metricGroup().histogram("latency_ms", histogram);
            context.metricGroup().gauge("silence_ms", () -> silence);
        }

        @Override
        public void write(Event event, Context context) {
            long now = System.currentTimeMillis();
            if (count > 0 && now / BUCKET_MS != first / BUCKET_MS) {
                writeBucket();
            }
            silence = last == 0 ? 0 : Math.max(silence, now - last);
            first = count == 0 ? now : first;
            last = now;
            latencies = count == latencies.length ? Arrays.copyOf(latencies, 2 * count) : latencies;
            latencies[count++] = now - event.due;
            histogram.update(now - event.due);
        }

        private void writeBucket() {
            Arrays.sort(latencies, 0, count);
            long mean = Math.round(Arrays.stream(latencies, 0, count).average().orElse(0));
            long median = latencies[count / 2];
            long high = latencies[(int) (0.95 * (count - 1))];
            file.println(first + " " + last + " " + count + " " + mean + " " + median + " " + high + " " + latencies[count - 1]);
            file.flush();
            count = 0;
        }

        @Override
        public void flush(boolean endOfInput) {}

        @Override
        public void close() {
            if (count > 0) {
                writeBucket();
            }
            file.close();
        }
    }
}
