package edrp.lab;

import edrp.live.Context;

/** Counts the records of each key where its tasks may move. */
final class LiveCounter extends NumberedFunction<ChainState> {
    private final Service service;
    private final int bytes;

    LiveCounter(Service service, int bytes) {
        super(ChainState.class);
        this.service = service;
        this.bytes = bytes;
    }

    @Override
    public ChainState process(Integer key, ChainState state, Numbered record, Context<Integer, Numbered> context) {
        ChainState next = ChainState.next(state, record, bytes);
        service.serve();
        context.collect(next.result(record));
        return next;
    }
}
