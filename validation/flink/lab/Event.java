package edrp.lab;

/** One record: its number in its source, when it was due (milliseconds since 1970), its key, and which source it is from. */
public class Event {
    public long index;
    public long due;
    public int key;
    public int origin;

    /** For Flink's serializer. */
    public Event() {}

    public Event(long index, long due, int key, int origin) {
        this.index = index;
        this.due = due;
        this.key = key;
        this.origin = origin;
    }
}
