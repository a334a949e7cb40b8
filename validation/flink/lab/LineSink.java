package edrp.lab;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;

/**
 * Writes a line for each record, "arrived_ms due_ms key number chain", at least once: what came before a checkpoint is in the
 * file when it is complete, all else a moment later, and after a restart records may come again.
 */
final class LineSink implements Sink<Numbered> {
    private static final long FLUSH_MS = 50;

    private final String file;

    LineSink(String file) {
        this.file = file;
    }

    @Override
    public SinkWriter<Numbered> createWriter(WriterInitContext context) throws IOException {
        StandardOpenOption[] append = {StandardOpenOption.CREATE, StandardOpenOption.APPEND};
        PrintWriter lines = new PrintWriter(Files.newBufferedWriter(Path.of(file), StandardCharsets.US_ASCII, append), false);
        lines.println(); // ends a line that a killed process has left
        return new SinkWriter<>() {
            private boolean waiting;

            @Override
            public void write(Numbered record, Context around) {
                long now = System.currentTimeMillis();
                lines.println(now + " " + record.due + " " + record.key + " " + record.number + " " + record.chain);
                if (!waiting) {
                    waiting = true;
                    context.getProcessingTimeService().registerTimer(now + FLUSH_MS, time -> {
                        waiting = false;
                        lines.flush();
                    });
                }
            }

            @Override
            public void flush(boolean endOfInput) {
                lines.flush();
            }

            @Override
            public void close() {
                lines.close();
            }
        };
    }
}
