package edrp.live;

import java.io.*;
import java.net.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.Consumer;
import org.apache.flink.runtime.taskmanager.TaskManagerRuntimeInfo;

/** Sends states of tasks to other workers, one after the other and at a pace, and receives them; addresses are on the board. */
final class Transfers implements Closeable {
    private static final int PIECE = 1 << 16;
    private static final int TRIES = 6000; // minutes: a worker may take long to restore what it has
    private static final int PAUSE_MS = 50;
    private static final int TIMEOUT_MS = 60_000;
    private final String name;
    private final int worker;
    private final long token = new java.security.SecureRandom().nextLong(); // others cannot hand in states
    private final Board board;
    private final ServerSocket server;
    private final Consumer<Parcel> arrived;
    private final Consumer<IOException> failed;
    private final ExecutorService sender;
    private volatile boolean closed;

    /** The state of a task on its way, with what was measured of it. */
    record Parcel(long version, long[] load, List<byte[]> chunks) {
        long bytes() { return chunks.stream().mapToLong(chunk -> chunk.length).sum(); }
    }

    Transfers(String name, int worker, TaskManagerRuntimeInfo manager, Board board, Consumer<Parcel> arrived,
            Consumer<IOException> failed) throws IOException {
        this.name = name;
        this.worker = worker;
        this.board = board;
        this.arrived = arrived;
        this.failed = failed;
        server = new ServerSocket(0, 50, InetAddress.getByName(manager.getTaskManagerBindAddress()));
        sender = Executors.newSingleThreadExecutor(this::daemon);
        daemon(this::accept).start();
        board.write(place(worker), manager.getTaskManagerExternalAddress() + " " + server.getLocalPort() + " " + token);
    }

    private String place(int number) { return "worker " + name + " " + number; }

    private Thread daemon(Runnable task) {
        Thread thread = new Thread(task, "live transfers of " + name + " " + worker);
        thread.setDaemon(true);
        return thread;
    }

    /** Sends in the background; the copy is kept until the other side has it, or the job fails. */
    void send(int target, double pace, Parcel parcel) {
        sender.execute(() -> {
            IOException last = null;
            for (int tries = 0; tries < TRIES && !closed; tries++) {
                try {
                    sendOnce(target, pace, parcel);
                    return;
                } catch (IOException error) { // the other worker may be about to start
                    last = error;
                    sleep(PAUSE_MS);
                }
            }
            if (!closed) {
                failed.accept(new IOException(name + ": worker " + worker + " cannot hand a task to worker " + target, last));
            }
        });
    }

    private void sendOnce(int target, double pace, Parcel parcel) throws IOException {
        String[] address = board.read().getOrDefault(place(target), "").split(" ");
        if (address.length < 3) {
            throw new IOException("worker " + target + " has no address yet");
        }
        try (Socket socket = new Socket(address[0], Integer.parseInt(address[1]))) {
            socket.setSoTimeout(TIMEOUT_MS);
            DataOutputStream out = new DataOutputStream(new BufferedOutputStream(socket.getOutputStream(), PIECE));
            long[] load = parcel.load;
            for (long number : new long[] {Long.parseLong(address[2]), parcel.version, load[0], load[1], load[2], load[3]}) {
                out.writeLong(number);
            }
            out.writeInt(parcel.chunks.size());
            long began = System.nanoTime();
            long sent = 0;
            for (byte[] chunk : parcel.chunks) {
                out.writeInt(chunk.length);
                for (int at = 0; at < chunk.length; at += PIECE) {
                    out.write(chunk, at, Math.min(PIECE, chunk.length - at));
                    sent += Math.min(PIECE, chunk.length - at);
                    if (pace > 0) {
                        out.flush();
                        sleep((long) (1000 * sent / pace) - (System.nanoTime() - began) / 1_000_000);
                    }
                }
            }
            out.flush();
            if (socket.getInputStream().read() != 1) {
                throw new IOException("worker " + target + " has not confirmed");
            }
        }
    }

    private static void sleep(long millis) {
        try {
            Thread.sleep(Math.max(0, millis));
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    private void accept() {
        while (!closed) {
            try {
                Socket socket = server.accept();
                daemon(() -> receive(socket)).start();
            } catch (IOException error) {
                return; // closed
            }
        }
    }

    private void receive(Socket socket) {
        try (socket) {
            socket.setSoTimeout(TIMEOUT_MS);
            DataInputStream in = new DataInputStream(new BufferedInputStream(socket.getInputStream(), PIECE));
            if (in.readLong() != token) {
                return;
            }
            long version = in.readLong();
            long[] load = {in.readLong(), in.readLong(), in.readLong(), in.readLong()};
            List<byte[]> chunks = new ArrayList<>();
            for (int left = in.readInt(); left > 0; left--) {
                chunks.add(new byte[in.readInt()]);
                in.readFully(chunks.get(chunks.size() - 1));
            }
            arrived.accept(new Parcel(version, load, chunks));
            socket.getOutputStream().write(1);
        } catch (IOException | RejectedExecutionException error) {
            // the sender tries again or fails, or this worker is about to end
        }
    }

    @Override public void close() throws IOException {
        closed = true;
        sender.shutdownNow();
        server.close();
    }
}
