package edrp.live;

import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.typeutils.*;
import org.apache.flink.configuration.*;
import org.apache.flink.core.execution.CheckpointingMode;
import org.apache.flink.runtime.execution.SuppressRestartsException;
import org.apache.flink.streaming.api.datastream.*;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.operators.*;
import org.apache.flink.types.Either;

/** Keyed operators whose tasks move to other workers while the stream goes on; `edrp migrate flink` says which, and when. */
public final class Live {
    private Live() {}

    /** Moves from a control log, which the command writes; one such stream serves all live operators of a job. */
    @SuppressWarnings("deprecation") // see ControlSource
    public static DataStream<Move> control(StreamExecutionEnvironment environment, String uri) {
        return environment.addSource(new ControlSource(uri), "live-control").returns(Types.POJO(Move.class))
                .uid("live-control").setParallelism(1);
    }

    /** Takes the place of `keyBy(…).process(…)`. Values of a key keep their order behind each subtask of the stream. */
    public static <I, K, S, O> SingleOutputStreamOperator<O> process(
            DataStream<I> stream, DataStream<Move> control, LiveFunction<I, K, S, O> function, LiveSettings settings) {
        var either = new EitherTypeInfo<>(stream.getType(), Types.POJO(Move.Marker.class));
        var routed = new TupleTypeInfo<Tuple2<TaskKey, Either<I, Move.Marker>>>(Types.POJO(TaskKey.class), either);
        String router = settings.name + "-router";
        return stream.connect(control.broadcast(Router.TABLE)).process(new Router<>(function, settings))
                .returns(routed).name(router).uid(router).setParallelism(stream.getParallelism())
                .keyBy(value -> value.f0, Types.POJO(TaskKey.class))
                .transform(settings.name, function.resultType(), new Factory<>(function, settings))
                .uid(settings.name).setParallelism(settings.workers).setMaxParallelism(settings.groups);
    }

    /** Markers must reach a worker in line with the values, and barriers behind or before all of a move. */
    static void refuseCheckpointsOutOfLine(Configuration job) {
        boolean twice = CheckpointingOptions.getCheckpointingMode(job) == CheckpointingMode.AT_LEAST_ONCE;
        if (CheckpointingOptions.isCheckpointingEnabled(job) && (twice || CheckpointingOptions.isUnalignedCheckpointEnabled(job))) {
            throw new SuppressRestartsException(new IllegalStateException("live migration needs aligned checkpoints, exactly once: set "
                    + "execution.checkpointing.unaligned.enabled: false and execution.checkpointing.mode: EXACTLY_ONCE"));
        }
    }

    private static final class Factory<I, K, S, O> extends AbstractStreamOperatorFactory<O>
            implements OneInputStreamOperatorFactory<Tuple2<TaskKey, Either<I, Move.Marker>>, O> {
        private final LiveFunction<I, K, S, O> function;
        private final LiveSettings settings;

        Factory(LiveFunction<I, K, S, O> function, LiveSettings settings) {
            this.function = function;
            this.settings = settings;
        }

        @SuppressWarnings("unchecked")
        @Override public <T extends StreamOperator<O>> T createStreamOperator(StreamOperatorParameters<O> parameters) {
            return (T) new Worker<>(parameters, function, settings);
        }

        @SuppressWarnings("rawtypes")
        @Override public Class<? extends StreamOperator> getStreamOperatorClass(ClassLoader loader) { return Worker.class; }
    }
}
