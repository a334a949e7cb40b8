package edrp.lab;

/** A tweet that enters the window (change 1) or leaves it (-1), with different words in ascending order. */
public class Tweet {
    public long due;
    public int change;
    public int[] words;

    /** For Flink's serializer. */
    public Tweet() {}

    Tweet(long due, int change, int[] words) {
        this.due = due;
        this.change = change;
        this.words = words;
    }
}
