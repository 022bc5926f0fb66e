/*
 * Copyright (c) 2026 The Bulkhead authors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef AGENT_AGENT_PRIVATE_H
#define AGENT_AGENT_PRIVATE_H 1

/* Between agent.c, which works, gate.c, which lets pass what is proved,
 * prepare.c, which makes changes to come take less, save.c, which keeps what
 * was pushed, and status.c, which tells. */

#include "agent/admitted.h"
#include "agent/agent.h"
#include "agent/compiled.h"
#include "agent/prove.h"
#include "agent/worker.h"
#include "push/keep.h"
#include "svec.h"

/* A process that prepares proofs of changes to come. */
struct preparer {
    struct worker worker;
    char *tenant;               /* Of this; or NULL. */
};

/* What is compiled is put onto the bridge once it is proved.  Until then, and
 * if it is refused, the bridge is kept as it was put last. */
struct gate {
    struct prover *prover;
    struct proved *proved;      /* Of what is compiled, for the next change;
                                 * NULL if it is not known. */
    struct arena *arena;        /* Of what is known... */
    plan_names known;           /* ...as in plan_record.proved. */
    unsigned int bridge_seqno;  /* As of the last gate_begin(). */
    struct admitted admitted;   /* Of what was put last. */
    struct plan kept;           /* What the node kept before the start, as long
                                 * as nothing is proved... */
    bool has_kept;              /* ...if it kept anything. */
    bool unbound;               /* Was it put while no intent had been good,
                                 * ... */
    struct sset gone;           /* ...without these interfaces... */
    struct smap said;           /* ...and what others have said they are? */
    bool held;                  /* Is what is compiled not put yet... */
    bool fresh;                 /* ...nor its proof begun... */
    bool anew;                  /* ...and to be put as a whole, ... */
    bool cut;                   /* (Was the whole that was put last without an
                                 * interface that had gone?) */
    struct resident_diff diff;  /* ...or by this, if nothing was... */
    size_t changes;             /* ...compiled since. */
    long long int held_at;      /* Since when something is. */
    long long int rest_at;      /* When proofs of changes to come are prepared,
                                 * if none is to be made; 0: they are. */
    struct preparer preparer;   /* As long as it runs, 'rest_at' is not
                                 * reached. */
    long long int retry_at;     /* When a proof that broke or was late begins
                                 * again; 0: none did. */
    bool again;                 /* Is the proof that runs such a one?  Then any
                                 * change takes its place. */
    char *refusal;              /* Why it is not proved; or NULL. */
    uint64_t n_proofs;          /* That were ended with success. */
    struct proof_cost last;     /* Of the last of them. */
};

/* What was pushed is kept on the node. */
struct saver {
    struct worker worker;
    struct journal *journal;    /* Of what is kept, if that with it is what
                                 * was put last; or NULL... */
    struct journal *next;       /* ...and of what is being kept. */
    struct svec edits;          /* For these, of what is compiled and not put
                                 * yet... */
    size_t n_pending;           /* ...and their bytes; but if... */
    bool whole;                 /* ...then no edits say what that changes. */
    bool partial;               /* Is it partial, as edits say? */
    bool own;                   /* Is the journal of what this process kept
                                 * as a whole, or has folded since? */
    bool folds;                 /* Is what runs agent/fold.h? */
    bool folded;                /* Was what kept it last? */
    bool no_fold;               /* Can it not be run? */
    uint32_t known;             /* Hash of the digests that are kept, ... */
    uint32_t knowing;           /* ...and of those that are being kept. */
    bool skip;                  /* Was a generation only in a journal that is
                                 * lost? */
    uint64_t pushes;            /* Of the keeper; */
    uint64_t saving, saved;     /* those that are being kept, and are. */
    long long int at;           /* When the next begins. */
    long long int hurried;      /* When saver_hurry() was last called. */
    bool asked;                 /* Did agent_save() ask for one that is to
                                 * begin... */
    bool answers;               /* ...or for the one that runs? */
    const char *answer;         /* Why that failed; or NULL. */
    char *trouble;              /* Why nothing is kept; or NULL. */
    long long int since;        /* Since when what is pushed is not kept; 0: it
                                 * is. */
    bool stopped;               /* Was the process ended for a change, and has
                                 * it not ended yet? */
};

struct agent {
    const struct agent_options *options;
    struct files *files;
    struct compiled *compiled;
    struct keeper *keeper;
    struct gate gate;
    unsigned int bridge_seqno;  /* Of what the compiled was bound to. */
    bool reload;                /* Are all files to be read? */
    bool ready;
    struct saver saver;
};

/* Stores in '*journal' that of what the node keeps, or NULL; good until
 * something is proved. */
void gate_init(struct gate *, const struct agent_options *,
               const char **journal);
void gate_destroy(struct gate *);

/* Something has been compiled: 'diff' says what has changed, unless the news
 * are COMPILED_ANEW. */
void gate_put(struct agent *, enum compiled_news,
              const struct resident_diff *);

/* Puts what is proved by now. */
void gate_run(struct agent *);

/* Must the proof that runs end before anything else is compiled? */
bool gate_is_closed(const struct agent *);

/* Once all is compiled: begins its proof, lets the keeper have a plan if it
 * wants one, and cuts off interfaces that have changed meanwhile. */
void gate_begin(struct agent *);

/* What is compiled is to be put.  Stores which interfaces are to be left
 * out. */
void gate_note_bound(struct agent *, struct sset *gone);

/* What the node keeps, if it does: is it to be put now, until something is
 * proved?  Puts it, and cuts off interfaces that the bridge says have changed
 * since, if there is no intent yet that would say so.  (kept.c) */
bool kept_is_due(const struct agent *);
bool kept_is_meant(const struct agent *);       /* Is it what is compiled? */
void kept_put(struct agent *);
void kept_follow(struct agent *);

/* While nothing is to be proved: makes what is to come take less. */
void gate_rest(struct agent *);
void gate_wait(const struct agent *);

/* The same in another process, where it takes long; sets when to go on with
 * gate_rest().  Returns false if there is nothing to be done. */
void preparer_init(struct preparer *);
void preparer_destroy(struct preparer *);
bool preparer_begin(struct agent *);

/* Takes what it has found; and ends it, because something may have changed. */
void preparer_run(struct agent *);
void preparer_yield(struct agent *);
void preparer_wait(const struct agent *);

/* 'journal' is that of what the node keeps, or NULL. */
void saver_init(struct agent *, const char *journal);
void saver_destroy(struct saver *);

/* Keeps what changes, in the journal, before it is put: what was compiled is
 * noted as gate_put() has it, and saver_put() says that all of it is about to
 * be put.  What no edit says makes what is kept one that is not trusted, until
 * it is kept as a whole. */
void saver_note(struct agent *, enum compiled_news,
                const struct resident_diff *);
void saver_put(struct agent *);

/* What is kept is not what was put: takes its journal away. */
void saver_lose(struct saver *);

/* Keeps the whole of what was pushed, once nothing has been for a while; or at
 * once, but if saver_hurry() is called again and again.  What a journal says
 * is kept by that, unless somebody asks for all (agent/fold.h). */
void saver_run(struct agent *);
void saver_hurry(struct agent *);
void saver_wait(const struct agent *);

/* A change has come.  As long as a process lives that has a copy of all that
 * is known, to keep what was pushed, each page of memory that the change
 * writes to is copied, which takes many times as long as the change: so the
 * process is ended, and begins again when nothing has changed for a while,
 * unless somebody waits for it, or nothing of what was pushed for long is
 * kept, or the journal has become large. */
void saver_yield(struct agent *);

/* Keeps the whole, if that takes no longer than a few seconds. */
void saver_finish(struct agent *);

#endif /* agent/agent-private.h */
