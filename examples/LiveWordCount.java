import edrp.live.Context;
import edrp.live.Live;
import edrp.live.LiveFunction;
import edrp.live.LiveSettings;
import edrp.live.Move;
import java.time.Duration;
import java.util.Arrays;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.Collector;

/** Counts words where the tasks of the counter may move: nc -lk 9999, then flink run words.jar file:///shared/words.moves */
public final class LiveWordCount {
    /** The count of each word, reported at the end of each minute in which it came. */
    static final class Count extends LiveFunction<String, String, Long, Tuple2<String, Long>> {
        @Override
        public TypeInformation<String> keyType() {
            return Types.STRING;
        }

        @Override
        public TypeInformation<Long> stateType() {
            return Types.LONG;
        }

        @Override
        public TypeInformation<Tuple2<String, Long>> resultType() {
            return Types.TUPLE(Types.STRING, Types.LONG);
        }

        @Override
        public String key(String word) {
            return word;
        }

        @Override
        public Long process(String word, Long count, String value, Context<String, Tuple2<String, Long>> context) throws Exception {
            context.registerProcessingTimer(context.processingTime() / 60_000 * 60_000 + 60_000); // once a minute
            return count == null ? 1 : count + 1;
        }

        @Override
        public Long onTimer(String word, Long count, long time, Context<String, Tuple2<String, Long>> context) {
            context.collect(Tuple2.of(word, count));
            return count;
        }
    }

    public static void main(String[] arguments) throws Exception {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        environment.enableCheckpointing(10_000);
        DataStream<Move> control = Live.control(environment, arguments[0]);
        DataStream<String> words = environment.socketTextStream("localhost", 9999)
                .flatMap((String line, Collector<String> out) -> Arrays.stream(line.split(" ")).forEach(out::collect))
                .returns(Types.STRING);
        LiveSettings settings = new LiveSettings("counter").tasks(64, 128).workers(4, 2).timeToLive(Duration.ofDays(1));
        Live.process(words, control, new Count(), settings).print();
        environment.execute("words");
    }
}
