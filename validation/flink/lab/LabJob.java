package edrp.lab;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.operators.SlotSharingGroup;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.ParameterTool;

/**
 * Jobs to measure on: --topology chain, fan-out or join.
 *
 * <pre>
 * chain    reader → parser → counter → writer
 * fan-out  reader → parser → counter and enricher → writer
 * join     left and right → join → writer
 * </pre>
 *
 * <p>Required: --rates FILE (see RateSchedule), --folder FOLDER for what the writer measures. For each operator NAME:
 * --NAME.replicas, --NAME.micros of service. Others: --keys, --skew (exponent of Zipf's law), --state-bytes per key,
 * --store-bytes-per-second (of a store that the counter's state comes back from after a restart; default: as fast as it is),
 * --service fixed|exponential, --checkpoint-ms, --buffer-ms, --name, and --pinned true, with which each operator has slots of
 * its own that demand the external resource of the operator's name, or the one that --places OPERATOR=RESOURCE,… names for it.
 */
public final class LabJob {
    private static final TypeInformation<Event> EVENT = TypeInformation.of(Event.class);

    private final ParameterTool parameters;
    private final StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();

    private LabJob(String[] arguments) {
        parameters = ParameterTool.fromArgs(arguments);
        environment.setMaxParallelism(parameters.getInt("max-parallelism", 128));
        environment.enableCheckpointing(parameters.getInt("checkpoint-ms", 5000));
        environment.setBufferTimeout(parameters.getInt("buffer-ms", 10));
        environment.disableOperatorChaining(); // every operator has counters, replicas and a place of its own
    }

    public static void main(String[] arguments) throws Exception {
        LabJob job = new LabJob(arguments);
        String topology = job.parameters.get("topology", "chain");
        switch (topology) {
            case "chain":
                job.write(job.count(job.parse(job.read("reader", 0, 1.0))));
                break;
            case "fan-out":
                DataStream<Event> parsed = job.parse(job.read("reader", 0, 1.0));
                job.write(job.count(parsed).union(job.serve(parsed, "enricher")));
                break;
            case "join":
                job.write(job.join(job.read("left", 0, 0.5), job.read("right", 1, 0.5)));
                break;
            default:
                throw new IllegalArgumentException("--topology is chain, fan-out or join, not " + topology);
        }
        job.environment.execute(job.parameters.get("name", topology));
    }

    private DataStream<Event> read(String name, int origin, double share) {
        RateSchedule schedule = new RateSchedule(parameters.getRequired("rates"), share);
        int keys = parameters.getInt("keys", 1000);
        EventGenerator generator = new EventGenerator(schedule, keys, parameters.getDouble("skew", 0), origin);
        ScheduledSource<Event> source = new ScheduledSource<>(generator, schedule, EVENT);
        WatermarkStrategy<Event> times = WatermarkStrategy.<Event>noWatermarks().withTimestampAssigner((event, before) -> event.due);
        return placed(environment.fromSource(source, times, name), name);
    }

    private DataStream<Event> parse(DataStream<Event> events) {
        return serve(events, "parser");
    }

    private DataStream<Event> serve(DataStream<Event> events, String name) {
        return placed(events.rebalance().map(new ServedMap(service(name))).returns(EVENT), name);
    }

    private DataStream<Event> count(DataStream<Event> events) {
        int bytes = parameters.getInt("state-bytes", 1000);
        double store = parameters.getDouble("store-bytes-per-second", 0);
        double seconds = store > 0 ? bytes * (double) parameters.getInt("keys", 1000) / store : 0;
        Counter counter = new Counter(service("counter"), bytes, seconds);
        return placed(events.keyBy(event -> event.key, Types.INT).process(counter).returns(EVENT), "counter");
    }

    private DataStream<Event> join(DataStream<Event> left, DataStream<Event> right) {
        Join join = new Join(service("join"));
        return placed(
                left.keyBy(event -> event.key, Types.INT)
                        .connect(right.keyBy(event -> event.key, Types.INT))
                        .process(join)
                        .returns(EVENT),
                "join");
    }

    private void write(DataStream<Event> events) {
        // One writer: what it measures is in the order of time.
        var writer = events.rebalance().sinkTo(new LatencySink(parameters.getRequired("folder"))).name("writer").uid("writer");
        writer.setParallelism(1);
        if (pinned()) {
            writer.slotSharingGroup(slots("writer"));
        }
    }

    private Service service(String name) {
        return new Service(parameters.getDouble(name + ".micros", 1000), parameters.get("service", "fixed").equals("exponential"));
    }

    private DataStream<Event> placed(SingleOutputStreamOperator<Event> operator, String name) {
        operator.name(name).uid(name).setParallelism(parameters.getInt(name + ".replicas", 1));
        return pinned() ? operator.slotSharingGroup(slots(name)) : operator;
    }

    private boolean pinned() {
        return parameters.getBoolean("pinned", false);
    }

    /** Slots that only a TaskManager can give that advertises the external resource that the operator demands. */
    private SlotSharingGroup slots(String name) {
        return SlotSharingGroup.newBuilder(name)
                .setCpuCores(0.1)
                .setTaskHeapMemoryMB(8)
                .setTaskOffHeapMemoryMB(0)
                .setManagedMemoryMB(0)
                .setExternalResource(resource(name), 1.0)
                .build();
    }

    private String resource(String name) {
        for (String place : parameters.get("places", "").split(",")) {
            if (place.startsWith(name + "=")) {
                return place.substring(name.length() + 1);
            }
        }
        return name;
    }
}
