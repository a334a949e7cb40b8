#!/usr/bin/env bash
# One would guess: an edge that a program of Apache Flink forwards with forward() stays one to one: Flink refuses a program whose
#   ends have different parallelism.
# Versions: Flink 2.3.0 (apache-flink-libraries 2.3.0); needs a JDK of Java 17.
# Behaviour: where the adaptive scheduler rescales a running job, through PUT /jobs/:id/resource-requirements, it takes different
#   numbers for the two ends without a word and deals the tuples to all subtasks from then on. Only the plan says so, by another
#   ship_strategy. What relies on subtask i sending to subtask i, such as order or a cache by subtask, must be rescaled together.
# Seen:
#   submitted with 2 -> 3: Forward partitioning does not allow change of parallelism
#   running with 2 -> 2: FORWARD
#   rescaled to 2 -> 3: REBALANCE
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q 'apache-flink-libraries==2.3.0'
libraries=$("$work/venv/bin/python" -c 'import pathlib, pyflink; print(pathlib.Path(pyflink.__path__[0]) / "lib")')
cat > "$work/Forward.java" <<'JAVA'
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

public class Forward {
    static String base;
    static final HttpClient HTTP = HttpClient.newHttpClient();

    static String call(String method, String path, String body) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(base + path)).header("Content-Type", "application/json");
        request.method(method, body == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(body));
        return HTTP.send(request.build(), BodyHandlers.ofString()).body();
    }

    static List<String> all(String pattern, String text) {
        List<String> found = new ArrayList<>();
        for (Matcher m = Pattern.compile(pattern).matcher(text); m.find(); ) found.add(m.group(1));
        return found;
    }

    static StreamExecutionEnvironment program(Configuration settings, int after) {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(2, settings);
        env.disableOperatorChaining();
        env.fromSequence(0, Long.MAX_VALUE).forward()
                .map(x -> { Thread.sleep(5); return x; }).returns(Types.LONG).name("after").setParallelism(after)
                .sinkTo(new DiscardingSink<>());
        return env;
    }

    public static void main(String[] args) throws Exception {
        Configuration settings = new Configuration();
        try {
            program(settings, 3).getStreamGraph();
            System.out.println("submitted with 2 -> 3: accepted");
        } catch (UnsupportedOperationException refused) {
            System.out.println("submitted with 2 -> 3: " + refused.getMessage().split("\\.")[0]);
        }
        try (ServerSocket free = new ServerSocket(0)) {
            settings.setString("rest.port", "" + free.getLocalPort());
            base = "http://localhost:" + free.getLocalPort();
        }
        settings.setString("rest.bind-address", "localhost");
        settings.setString("jobmanager.scheduler", "adaptive");
        settings.setString("taskmanager.numberOfTaskSlots", "4");
        settings.setString("jobmanager.adaptive-scheduler.executing.cooldown-after-rescaling", "0 s");
        settings.setString("jobmanager.adaptive-scheduler.executing.resource-stabilization-timeout", "0 s");
        String job = "/jobs/" + program(settings, 2).executeAsync().getJobID();
        String strategies = "\"ship_strategy\":\"(\\w+)\"";
        List<String> planned = List.of();
        for (int i = 0; i < 60 && planned.isEmpty(); i++, Thread.sleep(500))
            if (call("GET", job, null).contains("\"state\":\"RUNNING\"")) planned = all(strategies, call("GET", job + "/plan", null));
        System.out.println("running with 2 -> 2: " + planned.get(0));
        String vertices = call("GET", job, null);
        String after = all("\"id\":\"(\\w+)\"[^{}]*?\"name\":\"after\"", vertices).get(0);
        String requirements = call("GET", job + "/resource-requirements", null);
        String wanted = requirements.replaceFirst("(\"" + after + "\":\\{\"parallelism\":\\{\"lowerBound\":\\d+,\"upperBound\":)\\d+", "$13");
        call("PUT", job + "/resource-requirements", wanted);
        String plan = "";
        for (int i = 0; i < 60 && !plan.contains("\"parallelism\":3"); i++, Thread.sleep(500)) plan = call("GET", job + "/plan", null);
        System.out.println("rescaled to 2 -> 3: " + all(strategies, plan).get(0));
        System.exit(0);
    }
}
JAVA
javac -nowarn -cp "$libraries/*" -d "$work/classes" "$work/Forward.java"
opened="--add-opens=java.base/java.util=ALL-UNNAMED --add-opens=java.base/java.lang=ALL-UNNAMED"
# shellcheck disable=SC2086 -- two options
java $opened -cp "$libraries/*:$work/classes" Forward 2> "$work/log" | tee "$work/seen" || { tail -n 20 "$work/log" >&2; exit 1; }
sed -n 's/^#   \(\(submitted\|running\|rescaled\) .*\)/\1/p' "$0" | diff - "$work/seen" || { echo "the behaviour has changed"; exit 1; }
