package edrp.lab;

import java.io.File;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichMapFunction;

/** Hands records on, and fails once each time that a file has grown, as a fault in a user's code would. */
final class Splitter extends RichMapFunction<Numbered, Numbered> {
    private static final long LOOK_MS = 20;

    private final String file;
    private transient long size;
    private transient long looked;

    Splitter(String file) {
        this.file = file;
    }

    @Override
    public void open(OpenContext context) {
        size = new File(file).length();
    }

    @Override
    public Numbered map(Numbered record) {
        long now = System.currentTimeMillis();
        if (now - looked > LOOK_MS) {
            looked = now;
            if (new File(file).length() > size) {
                throw new IllegalStateException("asked to fail");
            }
        }
        return record;
    }
}
