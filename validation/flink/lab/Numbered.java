package edrp.lab;

/** A record of a live job: the number that its key has reached, and, once it is counted, the chain of all numbers of the key. */
public class Numbered {
    public long due;
    public int key;
    public long number;
    public long chain;

    /** For Flink's serializer. */
    public Numbered() {}

    public Numbered(long due, int key, long number, long chain) {
        this.due = due;
        this.key = key;
        this.number = number;
        this.chain = chain;
    }
}
