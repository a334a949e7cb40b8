package edrp.lab;

import edrp.live.Live;
import edrp.live.LiveSettings;
import edrp.live.Move;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.Collector;
import org.apache.flink.util.ParameterTool;

/**
 * Maximal frequent patterns of words in a sliding window of tweets (state migration, section 6 and Fig. 8): reader → generator →
 * detector → maximal → writer. The loop of the detector is unrolled, since Flink has none: the second operator, with the same tasks,
 * learns of each pattern how many frequent ones contain it.
 *
 * <p>Required: --rates FILE of events per second, each the arrival or the departure of a tweet (see RateSchedule and TweetGenerator),
 * --folder FOLDER for what the writer writes (results.txt: "arrived_ms due_ms words pattern change" for each pattern that becomes
 * (1) or ceases to be (-1) a maximal frequent one; changes of a pattern may change places, their sum does not). --mode live|plain,
 * --control URI of the control log (live), --window and --threshold in tweets, --vocabulary, --tweet-words, --pattern-words at most
 * in a pattern, --micros and --service sleep|compute of the detector, --state-bytes per pattern, --tasks, --groups, --workers,
 * --used, --generators, --checkpoint-ms, --buffer-ms, --name.
 */
public final class FrequentPatternJob {
    private final ParameterTool parameters;
    private DataStream<Move> control;

    private FrequentPatternJob(String[] arguments) {
        parameters = ParameterTool.fromArgs(arguments);
    }

    public static void main(String[] arguments) throws Exception {
        new FrequentPatternJob(arguments).run();
    }

    private void run() throws Exception {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        environment.enableCheckpointing(parameters.getInt("checkpoint-ms", 5000));
        environment.setBufferTimeout(parameters.getInt("buffer-ms", 5));
        environment.disableOperatorChaining();
        if (parameters.get("mode", "live").equals("live")) {
            control = Live.control(environment, parameters.getRequired("control"));
        }
        int bytes = parameters.getInt("state-bytes", 0);
        Service service = new Service(parameters.getDouble("micros", 0), false, parameters.get("service", "sleep").equals("compute"));
        var frequent = new FrequentPatterns(parameters.getInt("threshold", 5), service, bytes);
        DataStream<PatternChange> crossings = process(patterns(environment), frequent, "detector");
        process(crossings, new MaximalPatterns(new Service(0, false), bytes), "maximal")
                .rebalance().sinkTo(new LineSink(parameters.getRequired("folder") + "/results.txt"))
                .name("writer").uid("writer").setParallelism(1);
        environment.execute(parameters.get("name", parameters.get("mode", "live")));
    }

    private DataStream<PatternChange> patterns(StreamExecutionEnvironment environment) {
        RateSchedule schedule = new RateSchedule(parameters.getRequired("rates"), 1.0);
        int size = parameters.getInt("pattern-words", Patterns.MAX_WORDS);
        TweetGenerator generator = new TweetGenerator(schedule, parameters.getInt("window", 1000),
                parameters.getInt("vocabulary", 1000), parameters.getInt("tweet-words", 4));
        ScheduledSource<Tweet> source = new ScheduledSource<>(generator, schedule, Types.POJO(Tweet.class));
        return environment.fromSource(source, WatermarkStrategy.noWatermarks(), "reader").uid("reader").setParallelism(1)
                .rebalance().flatMap((Tweet tweet, Collector<PatternChange> out) -> Patterns.combine(tweet.words, size,
                        pattern -> out.collect(new PatternChange(tweet.due, pattern, tweet.change, false))))
                .returns(Types.POJO(PatternChange.class)).name("generator").uid("generator")
                .setParallelism(parameters.getInt("generators", 2));
    }

    private <O> DataStream<O> process(DataStream<PatternChange> changes, PatternFunction<O> function, String name) {
        int workers = parameters.getInt("workers", 2);
        int groups = parameters.getInt("groups", 128);
        if (control == null) {
            return changes.keyBy(function::key, function.keyType()).process(new PlainPatterns<>(function)).returns(function.resultType())
                    .name(name).uid(name).setParallelism(workers).setMaxParallelism(groups);
        }
        LiveSettings settings = new LiveSettings(name).tasks(parameters.getInt("tasks", 64), groups)
                .workers(workers, parameters.getInt("used", workers));
        return Live.process(changes, control, function, settings);
    }
}
