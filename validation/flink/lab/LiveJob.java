package edrp.lab;

import edrp.live.Live;
import edrp.live.LiveSettings;
import edrp.live.Move;
import java.time.Duration;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.ParameterTool;

/**
 * A job whose tasks can be moved while it runs, or its twin in plain Flink, for tests and measurements: reader → splitter → counter
 * (→ recounter) → writer.
 *
 * <p>Required: --rates FILE (see RateSchedule), --folder FOLDER for what the writer writes (results.txt). --mode live|plain,
 * --control URI of the control log (live), --operators 1|2, --micros and --service sleep|compute, --keys, --skew or --weights FILE (see
 * NumberGenerator), --state-bytes per key, --tasks, --groups, --workers, --used, --routers, --checkpoint-ms, --buffer-ms, --ttl-ms,
 * --name.
 */
public final class LiveJob {
    private static final TypeInformation<Numbered> RECORD = Types.POJO(Numbered.class);

    private final ParameterTool parameters;

    private LiveJob(String[] arguments) {
        parameters = ParameterTool.fromArgs(arguments);
    }

    public static void main(String[] arguments) throws Exception {
        new LiveJob(arguments).run();
    }

    private void run() throws Exception {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        if (parameters.getInt("checkpoint-ms", 5000) > 0) {
            environment.enableCheckpointing(parameters.getInt("checkpoint-ms", 5000));
        }
        environment.setBufferTimeout(parameters.getInt("buffer-ms", 5));
        environment.disableOperatorChaining();
        boolean live = parameters.get("mode", "live").equals("live");
        DataStream<Move> control = live ? Live.control(environment, parameters.getRequired("control")) : null;
        DataStream<Numbered> records = read(environment);
        for (int i = 0; i < parameters.getInt("operators", 1); i++) {
            records = count(records, control, i == 0 ? "counter" : "recounter");
        }
        records.rebalance().sinkTo(new LineSink(parameters.getRequired("folder") + "/results.txt"))
                .name("writer").uid("writer").setParallelism(1);
        environment.execute(parameters.get("name", parameters.get("mode", "live")));
    }

    private DataStream<Numbered> read(StreamExecutionEnvironment environment) {
        RateSchedule schedule = new RateSchedule(parameters.getRequired("rates"), 1.0);
        int keys = parameters.getInt("keys", 1000);
        NumberGenerator generator = new NumberGenerator(schedule, keys, parameters.getDouble("skew", 0), parameters.get("weights"));
        ScheduledSource<Numbered> source = new ScheduledSource<>(generator, schedule, RECORD);
        return environment.fromSource(source, WatermarkStrategy.noWatermarks(), "reader").uid("reader").setParallelism(1)
                .partitionCustom((key, count) -> key % count, record -> record.key) // all of a key behind one router
                .map(new Splitter(parameters.getRequired("folder") + "/fail")).returns(RECORD).name("splitter").uid("splitter")
                .setParallelism(parameters.getInt("routers", 2));
    }

    private DataStream<Numbered> count(DataStream<Numbered> records, DataStream<Move> control, String name) {
        Service service = new Service(parameters.getDouble("micros", 0), false, parameters.get("service", "sleep").equals("compute"));
        int bytes = parameters.getInt("state-bytes", 1000);
        int workers = parameters.getInt("workers", 2);
        int groups = parameters.getInt("groups", 128);
        if (control == null) {
            return records.keyBy(record -> record.key, Types.INT).process(new PlainCounter(service, bytes)).returns(RECORD)
                    .name(name).uid(name).setParallelism(workers).setMaxParallelism(groups);
        }
        LiveSettings settings = new LiveSettings(name).tasks(parameters.getInt("tasks", 64), groups)
                .workers(workers, parameters.getInt("used", workers));
        if (parameters.has("ttl-ms")) {
            settings.timeToLive(Duration.ofMillis(parameters.getLong("ttl-ms")));
        }
        return Live.process(records, control, new LiveCounter(service, bytes), settings);
    }
}
