/* ui_impl.h - what the files of the screen share: ui.c (news, time), ui_keys.c (keys, the one table of them),
 * ui_chat.c (input, search, browsing, questions), ui_card.c (the verdict), ui_draw.c (cells), ui_question.c (what is
 * asked, as cells). */
#ifndef UI_IMPL_H
#define UI_IMPL_H
#include "app/learn/verdict_own.h"
#include "app/tui/layout.h"
#include "app/tui/list.h"
#include "app/tui/log.h"
#include "app/tui/transcript.h"
#include "app/tui/ui.h"
#include "app/tui/view_verdict.h"

enum ui_mode {
    MODE_TYPE,     /* keys go to the input */
    MODE_SEARCH,   /* to a search of the conversation */
    MODE_BROWSE,   /* a row of the conversation is marked: open, copy */
    MODE_QUESTION  /* an agent wants to know or to do something */
};

enum { UI_QUERY = 200, UI_CANDIDATES = 8 };
#define UI_CANCELLING "cancelling..." /* the notice that goes when what runs has ended */
#define UI_WAITS "waits for the end of" /* ... of one that goes when the command of a view begins */
#define UI_PAUSE 0.6 /* seconds without a key, after which a letter answers a question */

struct question {
    struct question *next;
    int64_t number;
    bool asks_text;
    char who[40], scope[400];
    struct buf text;
    struct pager pager;
    bool unread;        /* a text was being typed when it came */
    double quiet_since; /* no key came since; < 0: it has not been on the screen yet */
};

struct ui {
    struct ui_setup setup;
    struct ui_host host;
    enum glyphs glyphs;
    struct surface surface;
    struct layout layout;
    struct state state;
    struct transcript *transcript;
    struct edit *edit;
    struct log log;

    enum ui_mode mode;
    char query[UI_QUERY];    /* SEARCH */
    size_t n_query;
    bool not_found;
    const char *around;      /* that the search went on from the other end; "": it did not */
    int marked;              /* BROWSE: a row of the conversation's box */
    struct question *question; /* the first is shown */
    struct judge *judge;     /* why a turn had no memory; NULL: none for it */
    struct card card;
    double card_since;       /* on the screen; < 0: not yet */
    bool card_late;          /* something else was asked since, or that turn is gone: too late for its fixes */
    char card_agent[STATE_NAME]; /* whose turn it was; "": the only one's */
    struct buf asked;        /* what the person said last, to ask it again */
    struct buf draft;        /* what was typed when an agent asked for words; it comes back behind the answer */
    struct complete candidates; /* shown above the input; n 0: none */
    int candidate;

    enum view_name view;
    void *of_view[VIEWS];    /* a view's own */
    struct doc doc[DOC_KINDS];
    double asked_at[DOC_KINDS];
    enum doc_kind asked_for[VIEWS]; /* what each view asked for last: it is shown that */
    int agent;               /* of state: whom the person looks at */
    int current;             /* of state: whom lines are for; -1: the crew */
    bool crew;               /* there are several agents */
    char ordered[UI_QUERY];  /* the last command of a view, until it begins; cut */
    bool for_view;           /* it is obeyed: what it says is shown in the view too */
    int help_top;            /* VIEW_HELP: the key that it begins with */

    char session[33], title[121];
    char last_error[240], refused[240]; /* refused: why a turn was, until a line says the same */
    int64_t turns;           /* of the session */
    int waiting;             /* orders that are not begun */
    bool busy, is_command;   /* one is obeyed; it is a command */
    bool asks_again;         /* and a turn in place of the last one */
    double busy_since;
    bool leaving;
    int forced;              /* Ctrl-C while it leaves */
    bool asked_leave;        /* it was said that another Ctrl-C leaves */
    char notice[200];        /* in the count's row, till the next key */
    char progress[120];      /* what takes long, how far it is */
    struct { size_t n; uint64_t hash; int64_t tokens, frame; bool exact; char files[120]; } typed; /* of the text in the
                              input; what a template writes around it, -1: not known; the files that it names, and what
                              they weigh, in words */
    double now;
    bool goes_on;            /* in a view */
    bool over;
    int64_t status;
    struct { char words[80]; double part; } recorded;
};

const struct view_ops *ui_view(enum view_name v); /* NULL: the chat, the help */
struct box ui_view_box(const struct ui *ui);      /* where a view is drawn */
void ui_go(struct ui *ui, enum view_name v);
enum view_name ui_beside(const struct ui *ui); /* the view that is drawn, also beside the chat */
void ui_ask_docs(struct ui *ui, bool anew);       /* of the view that is looked at; anew: whatever its age */
void ui_ask(struct ui *ui, const struct doc_ask *what);
struct view_in ui_view_in(const struct ui *ui);
void ui_relayout(struct ui *ui);

/* To the clipboard.  false: not all of it was, and that was said. */
bool ui_copy(struct ui *ui, const char *text, size_t n);

/* ui_chat.c */
bool ui_chat_key(struct ui *ui, const struct key *k);
void ui_send(struct ui *ui);
bool ui_take_back(struct ui *ui); /* the newest line that waits; false: none does */
void ui_order(struct ui *ui, const char *text, size_t n);
/* /cancel is obeyed here: it is not queued behind what it is to end.  false: the text is another. */
bool ui_cancels(struct ui *ui, const char *text, size_t n);
void ui_count_typed(struct ui *ui);
void ui_question_put(struct ui *ui, const struct news *n);
void ui_question_drop(struct ui *ui, int64_t number);
void ui_complete(struct ui *ui, bool back);
void ui_complete_end(struct ui *ui);
/* ui_keys.c */
void ui_footer(const struct ui *ui, struct buf *out); /* keys and words for the footer, as "F2 memory  F3 ..." */
int ui_key_rows(const struct ui *ui);
void ui_key_row(const struct ui *ui, int i, const char **keys, const char **help);
/* ui_card.c */
enum { CARD_ROWS = 12, CARD_COLUMNS = 78 }; /* of the conversation, under which the card takes all above the input */
void ui_card_event(struct ui *ui, const struct event *e);
void ui_card_asked(struct ui *ui, const char *text, size_t n);  /* by the person: a turn begins */
void ui_card_pasted(struct ui *ui, const char *text, size_t n); /* is it a report of another program? */
void ui_card_why(struct ui *ui);
bool ui_card_key(struct ui *ui, const struct key *k);
void ui_card_draw(struct ui *ui, struct surface *s);
/* ui_question.c */
void ui_question_draw(struct ui *ui, struct surface *s);
/* ui_draw.c */
int ui_prompt_columns(const struct ui *ui); /* left of the input's text */
int ui_help_last(const struct ui *ui);      /* the key that the help begins with where it is scrolled to its end */
void ui_name_files(struct ui *ui, const char *text, size_t n); /* plan.c: files and frame, into ui->typed */
/* plan.c: before Enter, in so many columns if that is possible */
void ui_plan(const struct ui *ui, int columns, struct buf *out, bool *bad);

__attribute__((format(printf, 2, 3))) void ui_notice(struct ui *ui, const char *fmt, ...);
#endif
