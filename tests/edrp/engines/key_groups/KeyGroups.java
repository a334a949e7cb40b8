import java.io.DataInputStream;
import java.io.FileInputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import org.apache.flink.runtime.checkpoint.Checkpoints;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.state.KeyGroupsStateHandle;
import org.apache.flink.runtime.state.KeyedStateHandle;

/**
 * Prints the bytes of each key group as Flink's own classes read them from the metadata of a checkpoint, as JSON.
 *
 * <p>java -cp flink-dist.jar:log4j-api.jar:... KeyGroups.java _metadata
 */
public class KeyGroups {
  public static void main(String[] arguments) throws Exception {
    List<String> operators = new ArrayList<>();
    try (DataInputStream file = new DataInputStream(new FileInputStream(arguments[0]))) {
      for (OperatorState operator :
          Checkpoints.loadCheckpointMetadata(file, KeyGroups.class.getClassLoader(), arguments[0]).getOperatorStates()) {
        long[] sizes = new long[operator.getMaxParallelism()];
        for (OperatorSubtaskState subtask : operator.getStates()) {
          for (KeyedStateHandle handle : subtask.getManagedKeyedState()) {
            add((KeyGroupsStateHandle) handle, sizes);
          }
        }
        operators.add(
            String.format(
                " \"%s\": {\"parallelism\": %d, \"sizes\": %s}",
                operator.getOperatorID(), operator.getParallelism(), java.util.Arrays.toString(sizes)));
      }
    }
    System.out.println("{\n" + String.join(",\n", operators) + "\n}");
  }

  /** A key group reaches to the next larger offset. Canonical savepoints leave offsets of empty ones at 0. */
  private static void add(KeyGroupsStateHandle handle, long[] sizes) {
    TreeMap<Long, Integer> groups = new TreeMap<>();
    for (int group : handle.getKeyGroupRange()) {
      if (handle.getOffsetForKeyGroup(group) > 0) {
        groups.put(handle.getOffsetForKeyGroup(group), group);
      }
    }
    for (long offset : groups.keySet()) {
      Long end = groups.higherKey(offset);
      sizes[groups.get(offset)] += (end == null ? handle.getStateSize() : end) - offset;
    }
  }
}
