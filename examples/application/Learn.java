// Learns four answers and says how the loss went.
import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.PointerByReference;

public class Learn {
    static final float[] FEATURES = {1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0};
    static final float[] ANSWERS = {1, 0, 0.5f, 1};

    final KedgeSession kedge = Native.load("taste", KedgeSession.class);
    final Pointer session;

    Learn(String... options) {
        // One more, without a name, ends the list.
        KedgeSession.KedgeOption[] list =
            (KedgeSession.KedgeOption[]) new KedgeSession.KedgeOption().toArray(options.length / 2 + 1);
        for (int i = 0; i + 1 < options.length; i += 2) {
            list[i / 2].name = options[i];
            list[i / 2].value = options[i + 1];
        }
        PointerByReference opened = new PointerByReference();
        int code = kedge.kedge_open(list, opened);
        session = opened.getValue();
        check(code);
    }

    void check(int code) {
        if (code != KedgeSession.KEDGE_OK)
            throw new IllegalStateException(kedge.kedge_error(session));
    }

    void keep(String name, float[] values, long rows) {
        Memory memory = new Memory(4L * values.length);
        memory.write(0, values, 0, values.length);
        check(kedge.kedge_keep_input(session, name, memory, rows));
    }

    double step() {
        KedgeSession.KedgeStepResult result = new KedgeSession.KedgeStepResult();
        check(kedge.kedge_step(session, result));
        return result.loss;
    }

    public static void main(String[] words) {
        Learn learn = new Learn("--lr", "0.02", "--threads", "1");
        learn.keep("features", FEATURES, 4);
        learn.keep("labels", ANSWERS, 4);
        double first = learn.step(), last = first;
        for (int i = 1; i < 100; ++i)
            last = learn.step();
        System.out.printf("loss %.3f became %.6f%n", first, last);
        learn.kedge.kedge_close(learn.session);
    }
}
