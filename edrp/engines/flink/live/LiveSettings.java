package edrp.live;

import java.io.Serializable;
import java.time.Duration;

/** Settings of a live operator. Its name, which is its uid as well, and its tasks and groups stay for the life of its state. */
public final class LiveSettings implements Serializable {
    final String name;
    int tasks = 128;
    int groups = 128;
    int workers = 1;
    int used = 1;
    double bytesPerSecond;
    long timeToLive;

    public LiveSettings(String name) { this.name = name; }

    /** Number of tasks (128) and of key groups, Flink's maximum parallelism (128). Tasks of at most 2 MB keep pauses short. */
    public LiveSettings tasks(int tasks, int groups) {
        this.tasks = tasks;
        this.groups = groups;
        return checked();
    }

    /** Parallelism, and how many workers hold tasks when the job first starts; the others wait in slots until tasks come. */
    public LiveSettings workers(int workers, int used) {
        this.workers = workers;
        this.used = used;
        return checked();
    }

    /** Bytes per second that each worker sends at most where a plan names no pace; no limit. */
    public LiveSettings bytesPerSecond(double rate) {
        bytesPerSecond = rate;
        return this;
    }

    /** Processing time after which a state is gone that was not written; never. A move does not prolong it. */
    public LiveSettings timeToLive(Duration time) {
        timeToLive = Math.max(1, time.toMillis());
        return this;
    }

    /** Key group of each task when the job first starts: ranges of tasks, spread over the groups of the workers in use. */
    int[] firstTable() {
        int[] table = new int[tasks];
        for (int task = 0; task < tasks; task++) {
            int worker = (int) ((long) task * used / tasks);
            int begin = (worker * groups + workers - 1) / workers;
            int end = ((worker + 1) * groups + workers - 1) / workers;
            table[task] = begin + task % (end - begin);
        }
        return table;
    }

    private LiveSettings checked() {
        if (tasks < 1 || used < 1 || used > workers || workers > groups) {
            String numbers = tasks + " tasks, " + groups + " groups, " + workers + " workers, " + used + " used";
            throw new IllegalArgumentException(name + ": " + numbers + "; there must be a task, and 1 <= used <= workers <= groups");
        }
        return this;
    }
}
