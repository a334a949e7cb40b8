package edrp.lab;

import edrp.live.Live;
import edrp.live.LiveSettings;
import java.time.Duration;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.ParameterTool;

/**
 * A job whose tasks have timers and can be moved while it runs: reader → splitter → counter (TimerFunction) → writer.
 *
 * <p>Options are those of LiveJob, and --window-ms, --slide-ms and --tick-ms (0 for none). Record n of key k happens at n · 100 + 7 k
 * mod 100 milliseconds, so that what fires follows from the keys and the number of records.
 */
public final class TimerJob {
    private static final TypeInformation<Numbered> RECORD = Types.POJO(Numbered.class);

    private TimerJob() {}

    public static void main(String[] arguments) throws Exception {
        ParameterTool parameters = ParameterTool.fromArgs(arguments);
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        environment.enableCheckpointing(parameters.getInt("checkpoint-ms", 5000));
        environment.setBufferTimeout(5);
        environment.getConfig().setAutoWatermarkInterval(20);
        environment.disableOperatorChaining();
        RateSchedule schedule = new RateSchedule(parameters.getRequired("rates"), 1.0);
        NumberGenerator generator = new NumberGenerator(schedule, parameters.getInt("keys", 100), 0, null);
        ScheduledSource<Numbered> source = new ScheduledSource<>(generator, schedule, RECORD);
        String folder = parameters.getRequired("folder");
        DataStream<Numbered> records = environment.fromSource(source, WatermarkStrategy.noWatermarks(), "reader").uid("reader")
                .setParallelism(1).keyBy(record -> record.key, Types.INT) // all of a key behind one router
                .map(new Splitter(folder + "/fail")).returns(RECORD).name("splitter").uid("splitter")
                .setParallelism(parameters.getInt("routers", 2))
                .assignTimestampsAndWatermarks(WatermarkStrategy.<Numbered>forBoundedOutOfOrderness(Duration.ofMillis(200))
                        .withTimestampAssigner((record, before) -> record.number * 100 + record.key * 7L % 100))
                .setParallelism(parameters.getInt("routers", 2)); // behind each splitter its own, which sees its order
        LiveSettings settings = new LiveSettings("counter").tasks(parameters.getInt("tasks", 24), parameters.getInt("groups", 120))
                .workers(parameters.getInt("workers", 2), parameters.getInt("used", 2));
        TimerFunction function = new TimerFunction(parameters.getLong("window-ms", 1000), parameters.getLong("slide-ms", 500),
                parameters.getLong("tick-ms", 0), parameters.getInt("state-bytes", 1000));
        Live.process(records, Live.control(environment, parameters.getRequired("control")), function, settings)
                .rebalance().sinkTo(new LineSink(folder + "/results.txt")).name("writer").uid("writer").setParallelism(1);
        environment.execute("timers");
    }
}
