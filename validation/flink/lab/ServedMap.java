package edrp.lab;

import org.apache.flink.api.common.functions.MapFunction;

/** An operator without state that takes its time for each record. */
final class ServedMap implements MapFunction<Event, Event> {
    private final Service service;

    ServedMap(Service service) {
        this.service = service;
    }

    @Override
    public Event map(Event event) {
        service.serve();
        return event;
    }
}
