package edrp.live;

import java.util.Arrays;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;

/**
 * Key of a task in a key group: equal by both, and with a hash that Flink assigns to exactly this group. So the state of a task is
 * ordinary keyed state, and the task moves by changing its group. A POJO of Flink.
 */
public class TaskKey {
    public int task;
    public int group;
    public int hash;

    public TaskKey() {}

    TaskKey(int task, int group, int[] hashes) {
        this.task = task;
        this.group = group;
        this.hash = hashes[group];
    }

    /** For each of so many key groups a hash that Flink assigns to it. */
    static int[] hashes(int groups) {
        int[] found = new int[groups];
        Arrays.fill(found, -1);
        for (int hash = 0, left = groups; left > 0; hash++) {
            int group = KeyGroupRangeAssignment.computeKeyGroupForKeyHash(hash, groups);
            left -= found[group] < 0 ? 1 : 0;
            found[group] = found[group] < 0 ? hash : found[group];
        }
        return found;
    }

    @Override public int hashCode() { return hash; }

    @Override public boolean equals(Object other) {
        return other instanceof TaskKey key && key.task == task && key.group == group;
    }
}
