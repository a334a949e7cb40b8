package edrp.live;

/** A line of the control log on its way: a task gets another key group, or all workers pause for a step. A POJO of Flink. */
public class Move {
    /** Drawn when the control source starts, so that reports from before a restart do not count. */
    public long epoch;

    public long version;
    public String operator;
    /** Below 0 for a pause. */
    public int task;

    public int from;
    public int to;
    /** Bytes per second of each sender; 0 where the plan names none. */
    public double pace;
    /** Versions of its step: the first and the last. */
    public long first;

    public long last;

    /** What a router sends for it in line with the values: from IN on the new owner gets the task, after OUT the old one does not. */
    public static class Marker {
        public Move move;
        public boolean in;
        public int routers;
    }

    void setStep(Move first, Move last) {
        this.first = first.version;
        this.last = last.version;
    }

    /** A pause of all workers of an operator during the step. */
    Move pause(String name) {
        Move pause = new Move();
        pause.epoch = epoch;
        pause.operator = name;
        pause.task = -1;
        pause.first = first;
        pause.last = last;
        return pause;
    }

    Marker marker(boolean in, int routers) {
        Marker marker = new Marker();
        marker.move = this;
        marker.in = in;
        marker.routers = routers;
        return marker;
    }
}
