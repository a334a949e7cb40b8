package edrp.lab;

/** A change of what is counted of a pattern: of its tweets, of whether it is frequent, or of frequent patterns that contain it. */
public class PatternChange {
    public long due;
    public long pattern;
    public int change;
    public boolean containing;

    /** For Flink's serializer. */
    public PatternChange() {}

    PatternChange(long due, long pattern, int change, boolean containing) {
        this.due = due;
        this.pattern = pattern;
        this.change = change;
        this.containing = containing;
    }
}
