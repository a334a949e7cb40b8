package edrp.lab;

import edrp.live.Context;
import java.util.TreeMap;

/**
 * Sums of the numbers of a key in sliding windows of event time, which a timer ends; and "ticks" of processing time, the first of
 * which a record asks for, and each the next one. A result's `due` is a window's end, or -1 for a tick, its `number` the sum of a
 * window or of the ticks so far, and its `chain` how many records were late for their window, or when the tick was asked for.
 */
final class TimerFunction extends NumberedFunction<TimerFunction.Sums> {
    private final long size;
    private final long slide;
    private final long tick;
    private final int bytes;

    /** The sums of a key by the ends of windows, and its ticks. */
    public static class Sums {
        public TreeMap<Long, Long> windows = new TreeMap<>();
        public long fired = Long.MIN_VALUE;
        public long late;
        public long ticks;
        public byte[] ballast;
    }

    TimerFunction(long size, long slide, long tick, int bytes) {
        super(Sums.class);
        this.size = size;
        this.slide = slide;
        this.tick = tick;
        this.bytes = bytes;
    }

    @Override
    public Sums process(Integer key, Sums before, Numbered record, Context<Integer, Numbered> context) throws Exception {
        Sums sums = copy(before);
        if (before == null && tick > 0) {
            context.registerProcessingTimer(context.processingTime() + tick);
        }
        long last = Math.floorDiv(context.timestamp(), slide) * slide + size;
        for (long end = last; end > context.timestamp(); end -= slide) {
            if (end <= sums.fired) {
                sums.late++;
            }
            sums.windows.merge(end, record.number, Long::sum);
            context.registerEventTimer(end);
        }
        return sums;
    }

    @Override
    public Sums onTimer(Integer key, Sums before, long time, Context<Integer, Numbered> context) throws Exception {
        Sums sums = copy(before);
        if (context.timestamp() == null) {
            sums.ticks++;
            context.collect(new Numbered(-1, key, sums.ticks, time));
            context.registerProcessingTimer(time + tick);
        } else {
            Long sum = sums.windows.remove(time);
            sums.fired = Math.max(sums.fired, time);
            context.collect(new Numbered(time, key, sum == null ? -1 : sum, sums.late));
        }
        return sums;
    }

    private Sums copy(Sums before) {
        Sums sums = new Sums();
        sums.ballast = before == null ? new byte[bytes] : before.ballast;
        if (before != null) {
            sums.windows.putAll(before.windows);
            sums.fired = before.fired;
            sums.late = before.late;
            sums.ticks = before.ticks;
        }
        return sums;
    }
}
