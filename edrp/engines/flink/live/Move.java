package edrp.live;

/** A line of the control log on its way: a task gets another key group, or all workers pause for a step. A POJO of Flink. */
public class Move {
    public long epoch; // drawn when the control source starts, so that reports from before a restart do not count
    public long version;
    public String operator;
    public int task; // below 0 for a pause
    public int from;
    public int to;
    public double pace; // bytes per second of each sender; 0 where the plan names none
    public long first; // versions of its step
    public long last;

    /** What a router sends for it in line with the values: from IN on the new owner gets the task, after OUT the old one does not. */
    public static class Marker {
        public Move move;
        public boolean in;
        public int routers;
    }

    Marker marker(boolean in, int routers) {
        Marker marker = new Marker();
        marker.move = this;
        marker.in = in;
        marker.routers = routers;
        return marker;
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
}
