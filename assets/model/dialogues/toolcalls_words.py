"""The phrasings of toolcalls.py: what a user says to get each tool used, and what needs no tool.

Slots: {f} a file, {d} a folder, {t} a text, {o} and {n} old and new text, {p} a search pattern, {c} a command, {e} an
expression, {q} a query or question, {k} a key in a file, {a} and {b} numbers, {i} an artifact.
A phrasing may end in "{t}" after a colon: then nothing follows it.  One that starts with "= " is never held out, as
other modules train on the same words.
"""

READ = """
= [Read|Open|Show] {f}.
= [Read|Show] me {f}[, please|].
= Please [read|open|show me] {f}.
= [Can|Could] you [read|open] {f}[ for me|]?
= What is in {f}?
What does {f} say?
What is [written|said] in {f}?
[Show|Give] me the [content|contents|text] of {f}.
I [want|need] to see {f}.
I would like to [see|read] {f}.
Let me see {f}.
Let us [see|look at] {f}.
Take a look at {f}.
= Have a look at {f}[, please|].
Look at {f} and tell me what it says.
[Tell|Show] me what {f} says.
Tell me what is in {f}.
What are the contents of {f}?
Print [the file|] {f}.
Open the file {f}[ and show it|].
Read the file {f}[ for me|].
Read the [whole|full] file {f}.
Show the whole of {f}.
I need the [whole|full] text of {f}.
I need the [content|contents] of {f}.
What stands in {f}?
What stands in the file {f}?
Get me {f}.
Get the text of {f}.
Display {f}.
Display the file {f}.
[Check|See] what {f} says.
[Check|See] what is in {f}.
Would you [read|open] {f}[ for me|]?
Would you look into {f}?
Look into {f}[, please|].
Could you show me [what is in|] {f}?
Can you tell me what {f} says?
Can you tell me what stands in {f}?
Can you look at {f}?
There is a file {f}. [Read it|What does it say|Show it to me].
I have a file {f}. What is in it?
I have a file named {f}. [Open|Read|Show] it.
{f}: what does it say?
{f}: what is in it?
Now [read|open|show] {f}.
Next, [read|open] {f}.
Do [read|open] {f}[, please|].
Use the read tool on {f}.
[Read|Show|Display] {f} [once|] for me.
"""
READ_LINES = """
[Read|Show] lines {a} to {b} of {f}.
[Read|Show] me lines {a} to {b} [of|in|from] {f}.
[Show|Give] me lines {a}-{b} of {f}.
Lines {a} to {b} of {f}[, please|].
Please [read|show] lines {a} to {b} of {f}.
What do lines {a} to {b} of {f} say?
What is in lines {a} to {b} of {f}?
Read {f}, lines {a} to {b}.
Read {f} from line {a} to line {b}.
Show {f} from line {a} to [line|] {b}.
[Open|Print] {f}, lines {a}-{b}.
[Open|Display] {f} from line {a} to {b}.
[Can|Could] you [read|show me] lines {a} to {b} of {f}?
I need lines {a} to {b} of {f}.
I [want|need] to see lines {a} to {b} of {f}.
I would like to see {f}, lines {a} to {b}.
Let me see lines {a} to {b} [of|in] {f}.
[In|From] {f}, [read|show] lines {a} to {b}.
From {f} I need lines {a} to {b}.
Read from line {a} to line {b} in {f}.
Print lines {a} to {b} of {f}.
Print lines {a}-{b} of [the file|] {f}.
[Read|Show|Display] lines {a} through {b} of {f}.
Read {f}, line {a} through [line|] {b}.
What stands in lines {a} to {b} of {f}?
Look at lines {a} to {b} of {f}.
Look at {f}, lines {a}-{b}.
Take a look at lines {a} to {b} in {f}.
Only lines {a} to {b} of {f}[, please|].
Only show lines {a} to {b} of {f}.
Show me {f}, but only lines {a} to {b}.
Read {f}, but only from line {a} to line {b}.
Tell me what lines {a} to {b} of {f} say.
Tell me what is in lines {a}-{b} of {f}.
Open the file {f} and [read|show] lines {a} to {b}.
"""
READ_LINE = """
[Read|Show] line {a} of {f}.
What is [in|on] line {a} of {f}?
What does line {a} of {f} say?
[Show|Give] me line {a} of {f}[, please|].
Line {a} of {f}[, please|].
Read {f}, line {a}.
[Can|Could] you [read|show me] line {a} of {f}?
I need line {a} of {f}.
Print line {a} of {f}.
Let me see line {a} [of|in] {f}.
Tell me what line {a} of {f} says.
What stands on line {a} of {f}?
What stands in {f} on line {a}?
In {f}, what is on line {a}?
In {f}, read line {a}.
Read only line {a} of {f}.
Only line {a} of {f}, please.
Look at line {a} of {f}.
Look at {f}, line {a}.
I want to see line {a} in {f}.
Please [read|show] line {a} of {f}.
Please tell me what is on line {a} of {f}.
Show me {f}, only line {a}.
What is written on line {a} of {f}?
Could you tell me what line {a} of {f} says?
"""
READ_FROM = """
[Read|Show] {f} from line {a} on.
Read {f} from line {a}[, please|].
[Show|Read] me {f} from line {a} to the end.
Read from line {a} of {f} to the end.
[Show|Give] me [the rest of|] {f} from line {a} on.
What does {f} say from line {a} on?
What is in {f} from line {a} on?
[Can|Could] you read {f} from line {a} on?
Read {f}, from line {a} to the end.
I need {f} from line {a} to the end.
Print {f} from line {a} on.
Start reading {f} at line {a}.
Please read {f} starting at line {a}.
Read {f} starting at line {a}.
I need the rest of {f}, starting at line {a}.
Show {f} starting from line {a}.
Open {f} and read from line {a} on.
From line {a} on, what does {f} say?
Everything in {f} from line {a} on, please.
Show me everything in {f} starting at line {a}.
"""
READ_FIRST = """
[Read|Show] the first {b} lines of {f}.
[Show|Give] me the first {b} lines of {f}[, please|].
The first {b} lines of {f}[, please|].
What do the first {b} lines of {f} say?
What is in the first {b} lines of {f}?
[Can|Could] you [read|show me] the first {b} lines of {f}?
Read the top {b} lines of {f}.
Print the first {b} lines of {f}.
I need the first {b} lines of {f}.
I [want|need] to see the first {b} lines of {f}.
Let me see the first {b} lines of {f}.
Read {f}, only the first {b} lines.
Only the first {b} lines of {f}, please.
Look at the first {b} lines of {f}.
Show me only the top {b} lines of {f}.
Tell me what the first {b} lines of {f} say.
Open {f} and show the first {b} lines.
Please read the first {b} lines of {f}.
The top {b} lines of {f}, please.
Please show me the top {b} lines of {f}.
"""
VALUE = """
What is the {k} in {f}?
Which {k} [is|stands] in {f}?
What {k} does {f} [have|give|name]?
Which {k} does {f} [have|give|name]?
[Tell|Show] me the {k} in {f}.
Read {f} and tell me the {k}.
Look [in|into] {f} and tell me the {k}.
Open {f} and tell me the {k}[, please|].
What does {f} say about the {k}?
What does {f} give as the {k}?
I need the {k} from {f}.
I [want|need] to know the {k} in {f}.
I would like to know the {k} from {f}.
Get [me|] the {k} from {f}.
Get the {k} out of {f}.
[Can|Could] you tell me the {k} in {f}?
[Can|Could] you look up the {k} in {f}?
Look up the {k} in {f}.
The {k} stands in {f}. What is it?
The {k} is in {f}. [Tell me what it is|What is it].
In {f} there is a {k}. What is it?
In {f}, what is the {k}?
What is the {k} according to {f}?
According to {f}, what is the {k}?
Please read the {k} from {f}.
Read the {k} from {f}.
What is the value of {k} in {f}?
[Tell|Give] me the value of {k} in {f}.
What value does {k} have in {f}?
To what is the {k} set in {f}?
What is the {k} set to in {f}?
How is the {k} set in {f}?
[See|Check] {f} for the {k} and tell me.
Check the {k} in {f}.
Please check which {k} {f} has.
Do you see a {k} in {f}? Tell me what it is.
Give me the {k} that stands in {f}.
Give me the {k} from {f}.
Tell me which {k} stands in {f}.
Please tell me which {k} {f} names.
Could you read {f} and give me the {k}?
I forgot the {k}, it stands in {f}.
I forgot the {k}. Look it up in {f}.
Which value has the {k} in {f}?
What {k} is set in {f}?
"""
VALUE_MORE = """
And the {k}?
And what is the {k}?
What is the {k} there?
And what is the {k} there?
And the {k} there?
What about the {k}?
Which {k} is it?
And which {k}?
Which {k} does it name?
And which {k} does it name?
Now the {k}.
Now tell me the {k}.
Does it also say the {k}?
It also has a {k}. What is it?
Does it also name the {k}?
And the {k}, what is it?
Tell me the {k} too.
And tell me the {k} too.
The {k} too, please.
And the {k} too, please?
"""
WRITE = """
= Write {t} to {f}.
Write {t} into {f}.
Write {t} in [the file|] {f}.
[Please write|Please put] {t} into {f}.
Put {t} in {f}.
Put {t} into [a file named|the file|] {f}.
Save {t} to {f}.
Save {t} as {f}.
Save {t} in [the file|] {f}[, please|].
= Store {t} in {f}.
Create {f} with the text {t}.
Create {f} and write {t} into it.
Create a file {f} with {t} in it.
Create a file [named|called] {f} that says {t}.
Make a file {f} that says {t}.
Make a [new|] file {f} with the text {t}.
Make {f} say {t}.
[Can|Could] you write {t} to {f}?
[Can|Could] you save {t} [as|in] {f}?
[Can|Could] you create {f} with the text {t}?
I need a file {f} with {t} in it.
I need a [new|] file {f} that says {t}.
I want {t} in the file {f}.
I want {f} to say {t}.
The file {f} should say {t}.
{f} should [say|hold|contain] {t}.
The file {f} should [hold|contain] {t}[, please write it|].
Let {f} contain {t}.
In {f}, write {t}.
[Into|To] {f}, write {t}.
Write a file {f} that contains {t}.
Write a [new|] file {f} with the text {t}.
Write the text {t} to [the file|] {f}.
Save the text {t} as {f}.
Please save {t} in a file called {f}.
Please create {f} with {t} in it.
Start a new file {f} with {t} in it.
Start a file {f} that contains the text {t}.
Put the text {t} in a new file, {f}.
Store the text {t} as {f}.
Would you write {t} to {f}?
Would you store {t} in {f}?
"""
WRITE_END = """
= Write this to {f}: {t}
Write [this|the following] into {f}: {t}
Save this as {f}: {t}
Save [this|the following] in {f}: {t}
Please write to {f}: {t}
Write to {f}: {t}
Create {f} with this text: {t}
Create {f} with the following text: {t}
Put [this|the following] into {f}: {t}
Please put this into {f}: {t}
The file {f} should say: {t}
Make a file {f} that says: {t}
Make {f} say: {t}
I need a file {f} with this text: {t}
I need {f} to say this: {t}
{f} should contain this: {t}
Store this in {f}: {t}
Store the following as {f}: {t}
Please store [this|the following] in {f}: {t}
Can you save this as {f}: {t}
"""
EDIT = """
= Replace {o} with {n} in {f}.
Replace {o} by {n} in {f}.
= In {f}, replace {o} with {n}.
= In {f}, change {o} to {n}.
= Change {o} to {n} in {f}.
Change {o} into {n} in {f}[, please|].
[Please change|Please replace] {o} in {f} with {n}.
Edit {f}: {o} becomes {n}.
Edit {f}: replace {o} with {n}.
Edit {f} and change {o} to {n}.
In {f}, {o} should be {n}.
In {f}, {o} should become {n}.
{o} should be {n} in {f}.
{o} in {f} should become {n}.
= [Can|Could] you replace {o} with {n} in {f}?
[Can|Could] you change {o} to {n} in {f}?
Put {n} in place of {o} in {f}.
In {f}, put {n} in place of {o}.
In {f}, put {n} where it says {o}.
Put {n} where {f} says {o}.
Where {f} says {o}, it should say {n}.
Where {f} says {o}, put {n}.
{f} says {o}. It should say {n}.
{f} says {o}, make that {n}.
In {f} it says {o}, change it to {n}.
Turn {o} into {n} in {f}.
= In {f}, turn {o} into {n}.
Swap {o} for {n} in {f}.
In {f}, swap {o} for {n}.
Please swap {o} for {n} in the file {f}.
Correct {o} to {n} in {f}.
Please correct {f}: {o} should be {n}.
There is a mistake in {f}: {o} should be {n}.
There is a mistake in {f}, correct {o} to {n}.
Fix {f}: it says {o} and should say {n}.
Fix a mistake in {f}: {o} becomes {n}.
In the file {f}, fix {o} to {n}.
In the file {f}, replace {o} by {n}.
In the file {f}, make {o} become {n}.
Update {f}: {o} is now {n}.
Update {f} and replace {o} by {n}.
Update {o} to {n} in {f}.
Rename {o} to {n} in {f}.
In {f}, rename {o} to {n}.
Please update {o} to {n} in {f}.
"""
DELETE = """
Delete {o} from {f}.
Remove {o} from {f}.
In {f}, delete {o}.
In {f}, remove {o}.
Please [delete|remove] {o} from {f}.
[Can|Could] you remove {o} from {f}?
[Can|Could] you delete {o} in {f}?
Take {o} out of {f}.
Please take {o} out of [the file|] {f}.
Can you take {o} out of {f}?
Cut {o} from {f}.
Cut {o} out of {f}[, please|].
I want {o} removed from {f}.
I want {o} deleted from {f}.
In the file {f}, cut {o}.
{f} says {o}, delete that.
{f} says {o}. Remove it.
Edit {f} and remove {o}.
{o} should be deleted from {f}.
Edit {f}: {o} should be removed.
Get rid of {o} in {f}.
Edit {f} and get rid of {o}.
Remove the text {o} from {f}.
Delete the text {o} in {f}.
Get rid of the text {o} in {f}.
"""
LIST = """
List {d}.
= List [the files in|the contents of] {d}.
= What is in [the folder|] {d}?
Which files are in {d}?
[Show|Tell] me what is in the folder {d}.
What files are [there|] in {d}?
Show me the files in {d}.
Show the [folder|directory] {d}.
[Can|Could] you list {d}[ for me|]?
[Can|Could] you show me the files in {d}?
Please list [the folder|] {d}.
Please list the files in {d}.
List the [folder|directory] {d}.
List the [folder|directory] {d} for me.
Please show me the directory {d}.
What does the [folder|directory] {d} [hold|contain]?
What does the folder {d} have in it?
Which files does the folder {d} [hold|contain]?
Which files does the folder {d} have?
What do I have in the folder {d}?
Which files do I have in {d}?
I want to see the files in {d}.
I need a list of the files in {d}.
I need to see what is in the folder {d}.
I need a list of what the folder {d} contains.
Give me a list of [the files in|] {d}.
Give me the files in {d}.
Look into the folder {d}.
Look what is in the folder {d}.
Look into the directory {d} and list the files.
Have a look into the folder {d}.
Let me see what is in the folder {d}.
Let me see the folder {d}.
Tell me which files are in {d}.
Tell me which files the folder {d} contains.
What is there in the folder {d}?
Are there files in {d}? Which?
Are there any files in {d}?
List all files in {d}.
List all the files there are in {d}.
Name the files in {d}.
Name all files in the folder {d}.
What can I find in the folder {d}?
Which files can you find in {d}?
Which files can I find in the folder {d}?
Open the folder {d} [and list it|].
Check what is in the folder {d}.
Check which files are in {d}.
Use the list tool on {d}.
Open the folder {d} and check which files it has.
"""
LIST_HERE = """
List the files here.
What is here?
Which files are here?
What files are here?
List what is here.
Which files do we have here?
What is in this folder?
What is in the current folder?
List the current [folder|directory].
List this [folder|directory].
Show me the files here.
Show me the files in this folder.
Show me [what is in|] the current folder.
Which files are in this folder?
Which files are in the current folder?
[Can|Could] you list the files here?
Which files can you see here?
Tell me which files are here.
Tell me what is in this folder.
Tell me which files we have here.
"""
HAS = """
Is there [a file|] {f} in {d}?
Is {f} in {d}?
Does {d} [hold|contain|have] {f}?
Does the folder {d} [hold|contain|have] {f}?
Does the folder {d} have a file {f}?
[Check|See] if {f} is in {d}.
[Check|See] whether {d} has {f}.
Look if {f} is in {d}.
Is there {f} in the folder {d}?
Check whether there is a file {f} in {d}.
Do we have {f} in {d}?
Do I have a file {f} in {d}?
Can you see if there is {f} in {d}?
Tell me if {f} is in {d}.
Tell me whether {f} is in the folder {d}.
"""
SEARCH = """
= Search {d} for {p}.
= Search for {p} in {d}.
= Find {p} in {d}.
Look for {p} in {d}.
Search {d} for the [word|text] {p}.
Find the [word|text] {p} in {d}.
Where is {p} in {d}?
Where does {p} [stand|occur|appear] in {d}?
Where in {d} is {p}?
Where in {d} does {p} [appear|occur|stand]?
Which lines in {d} [have|contain|hold] {p}?
Which lines of {d} [mention|contain] {p}?
Find the lines with {p} in {d}.
[Find|Show] me the lines in {d} that [have|contain|mention] {p}.
[Find|Show] all lines with {p} in {d}.
On which line does {d} mention {p}?
On which line is {p} in {d}?
Grep for {p} in {d}.
Grep {d} for {p}.
Can you grep for {p} in {d}?
[Can|Could] you search {d} for {p}?
= [Can|Could] you find {p} in {d}?
[Can|Could] you look for {p} in {d}?
Please search for {p} in {d}.
Please find the lines in {d} that mention {p}.
Does {p} appear [somewhere|anywhere] in {d}? Where?
Does {p} occur in {d}? On which line?
Is {p} somewhere in {d}? Find it.
Is {p} mentioned in {d}? Where?
Where is {p} mentioned in {d}?
I am looking for {p} in {d}.
I am looking for the word {p} in {d}.
I am searching {d} for {p}.
I [want|need] to find {p} in {d}.
I need all lines with {p} in {d}.
I need to know where {p} stands in {d}.
I want to know where {p} is in {d}.
Tell me where {p} [stands|is|occurs] in {d}.
Tell me where {d} mentions {p}.
Tell me which lines in {d} mention {p}.
Somewhere in {d} there is {p}. Where?
Somewhere in {d} stands {p}. Find it.
Find every line with {p} in {d}.
Find every {p} in {d}.
Search {d} for every line with {p}.
Use the search tool to find {p} in {d}.
"""
SEARCH_ALL = """
Search for {p}.
Search all files for {p}.
Find {p} in [all|the] files.
Search everywhere for {p}.
Search for {p} in all files.
Where is {p}?
Where does {p} [occur|appear]?
Which files [mention|contain|have] {p}?
Which file [mentions|contains] {p}?
In which files does {p} [occur|appear]?
In which file is {p}?
In which file does {p} stand?
Look for {p} in all files.
Look for {p} everywhere.
Look everywhere for {p}.
Grep for {p}.
Grep all files for {p}.
Find all lines with {p}.
Find me the file that [mentions|contains] {p}.
Find me all files that mention {p}.
Please search for {p} here.
Search this folder for {p}.
Search here for {p}.
[Can|Could] you search for {p} everywhere?
[Can|Could] you search this folder for {p}?
Tell me which file contains {p}.
Tell me in which file {p} stands.
Find the file with {p} in it.
I need the file that contains {p}.
I need all files with {p} in it.
"""
SHELL = """
Run {c}.
Please run {c}.
Run the command {c}.
Execute {c}.
Please execute {c}.
Run {c} [in the shell|for me].
[Can|Could] you run {c}[ for me|]?
[Can|Could] you execute {c}?
What does {c} [print|say|give]?
What does {c} print if you run it?
Run {c} and [show|tell] me [the output|what it prints].
Show me the output of {c}.
What is the output of {c}?
Tell me the output of {c}.
Tell me what {c} prints.
I [want|need] the output of {c}.
I need to see what {c} prints.
I want you to run {c}.
I want to see the output of {c}.
I want you to execute {c} and tell me the output.
In the shell, run {c}.
In the shell, execute {c}.
Use the shell: {c}.
Use the shell to run {c}.
Please use the shell and run {c}.
Execute the command {c}[, please|].
Try {c}.
Try {c} and tell me what it says.
Try the command {c}.
Try to run the command {c}.
Do {c} in the shell.
Let us run {c}.
Let us see what {c} prints.
Let us try {c}.
Let me see the output of {c}.
Start {c}.
Start the command {c}.
Now run {c}.
Now start {c} in the shell.
Would you run {c} for me?
"""
SHELL_END = """
Run this: {c}
Run this command: {c}
Execute this: {c}
Execute this command: {c}
Please run this: {c}
Run in the shell: {c}
Please execute in the shell: {c}
Command: {c}
Use the shell: {c}
Please run this command: {c}
"""
SHELL_FIXED = [  # a wish that has one command
    ("pwd", """
Which folder are we in?
In which folder are we?
What is the path of this folder?
In which folder are you?
Which folder are you in?
Where are we? Tell me the path.
Tell me which folder we are in.
What is the current path?
Print the path of the current folder.
Tell me the path of this folder.
"""),
    ("whoami", """
Which user am I here?
What is my user name here?
Who am I on this machine?
Under which user do you run?
What is my user name on this machine?
Tell me my user name.
As which user am I here?
Which user name do I have here?
Which user do I have on this machine?
Tell me which user I am here.
"""),
    ("df -h", """
How much disk space is free?
How full is the disk?
Is the disk full?
How much space is left on the disk?
How much space is free on the disk?
Show me the free disk space.
Do we have disk space left?
Tell me how full the disk is.
How much disk space do we have left?
Tell me how much disk space is free.
"""),
    ("free -m", """
How much RAM is free on this machine?
How much RAM does this machine have free?
Show me the free RAM.
Is there RAM left on this machine?
How much RAM is left on this machine?
Tell me how much RAM is free.
How much free RAM do we have?
Do we have RAM left?
Tell me how much RAM we have left.
Is there free RAM on this machine?
"""),
    ("git status", """
Show me the git status.
What is the git status?
What does git say has changed?
Which files have changed in git?
Which files does git say have changed?
Give me the git status.
Check the git status.
What has changed in git?
Tell me what has changed in git.
Check which files have changed in git.
"""),
    ("git log", """
Show me the git log.
What does the git log say?
Show me the last commits.
What are the last commits?
What are the last commits in the git log?
Give me the git log.
Check the git log.
Which commits are there?
Tell me the last commits.
Check which commits are in the git log.
"""),
    ("make", """
Build the project.
Build it with make.
Please build the project.
Can you build the project?
Can you build it with make?
Run make.
Run the build.
Start the build.
Compile the project.
Please compile it with make.
"""),
    ("make test", """
Run the tests.
Please run the tests.
Do the tests pass?
Can you run the tests?
Do all tests pass? Run them.
Start the tests.
Check if the tests pass.
Do all the tests pass?
Let the tests run.
Please check if all tests pass.
"""),
]
RECALL = """
What did I say about {q} long ago?
What did I say about {q} [last week|last month]?
Look in your memory for {q}.
Search your memory for {q}.
What did we say about {q} long ago?
What did I tell you about {q} long ago?
What did I tell you [last week|weeks ago|last month] about {q}?
A long time ago I told you about {q}. What was it?
Long ago I told you about {q}. What did I say?
Long ago we talked about {q}. What did I tell you?
[Can|Could] you recall {q}?
Recall {q}.
Recall what I said about {q}.
Recall what was said about {q}.
Please recall what we said about {q}.
Find what I said about {q} long ago.
Find what we said about {q} in your memory.
What does your memory hold about {q}?
What does your memory say about {q}?
What is in your memory about {q}?
Is there something about {q} in your memory?
Do you have something about {q} in your memory?
Check your memory for {q}.
Check your memory: what did I say about {q}?
Check what your memory says about {q}.
What was it that I said about {q} [weeks ago|last month|long ago]?
What was said about {q} long ago?
What was said about {q} last [week|month]?
We talked about {q} long ago. What was it?
We talked about {q} last [week|month]. What did I say?
We spoke about {q} [long ago|weeks ago|last month]. What was said?
We spoke about {q} a long time ago, look it up.
Look up what I said about {q} long ago.
Look up what we said about {q} last month.
Look up in your memory what was said about {q}.
In an old talk I told you about {q}. What did I say?
In an old talk we spoke about {q}. Find it.
Look for {q} in our old talks.
Search our old talks for {q}.
Find {q} in our old talks.
Use recall for {q}.
Use your memory: {q}.
"""
ARTIFACT = """
Read artifact {i} from offset {a}.
Read on in artifact {i} from offset {a}.
Read on in {i} from offset {a}.
Go on with artifact {i} at offset {a}.
Go on reading artifact {i} at offset {a}.
Show me artifact {i} from offset {a}.
Show [me|] the rest of artifact {i} from offset {a}.
What does artifact {i} say from offset {a} on?
What is in artifact {i} from offset {a} on?
What does the rest of artifact {i} say from offset {a}?
Continue artifact {i} at offset {a}.
Continue with {i} at offset {a}.
Please continue reading {i} at offset {a}.
[Can|Could] you read artifact {i} from offset {a} on?
[Can|Could] you go on with artifact {i} from offset {a}?
Open artifact {i} at offset {a}.
Get artifact {i} from offset {a}.
I need artifact {i} from offset {a} on.
I need the rest of artifact {i}, from offset {a} on.
Please open artifact {i} at offset {a} and read on.
From offset {a} on, what does artifact {i} say?
Use the artifact tool: {i}, offset {a}.
Artifact {i}, offset {a}[, please|].
Artifact {i} from offset {a}, please.
Get the rest of {i}, offset {a}.
"""
ARTIFACT_START = """
Read artifact {i} from the [start|beginning].
Show me artifact {i} from the [start|beginning].
Open artifact {i}.
Open artifact {i} at the beginning.
Please open artifact {i} at the start.
Read artifact {i}.
Show me artifact {i}.
What is in artifact {i}?
What does artifact {i} say?
What does artifact {i} say at the [start|beginning]?
Get artifact {i}.
Please read artifact {i}.
[Can|Could] you open artifact {i}?
I need artifact {i} from the start.
Please read artifact {i} for me from the beginning.
I need to see artifact {i}.
Let me see artifact {i}.
Get me artifact {i} from the beginning.
Read me artifact {i}.
Let me see artifact {i} from the start.
"""
ASK = """
Ask me: {q}
Ask me this: {q}
Ask me the question {q}
Please ask me: {q}
Please ask me this question: {q}
Ask the user: {q}
Ask the user this: {q}
Put this question to me: {q}
Put this question to the user: {q}
Put the question to the user: {q}
I want you to ask me: {q}
I want you to ask this: {q}
Use the ask tool: {q}
Use the ask tool with this question: {q}
Use the ask tool to ask me: {q}
You should ask me: {q}
You should first ask me: {q}
Before you go on, ask me: {q}
First ask me: {q}
Before you go on, first ask the user: {q}
[Can|Could] you ask me: {q}
[Can|Could] you ask the user: {q}
Question for the user: {q}
Question for me, ask it: {q}
Could you ask the user this question: {q}
"""
# ---- two calls for one request
READ_THEN_EDIT = """
Set the {k} in {f} to {n}.
Change the {k} in {f} to {n}.
In {f}, set the {k} to {n}.
In {f}, change the {k} to {n}.
In {f}, the {k} should be {n}.
The {k} in {f} should be {n}.
Make the {k} in {f} {n}.
In {f}, make the {k} {n}.
Please set the {k} in {f} to {n}.
Please change {f}: the {k} should be {n}.
[Can|Could] you set the {k} in {f} to {n}?
[Can|Could] you change the {k} in {f} to {n}?
Update the {k} in {f} to {n}.
Update {f}: the {k} is now {n}.
The {k} is now {n}. Update {f}.
The {k} should now be {n}. Please change {f}.
Read {f} and set the {k} to {n}.
Read {f}, then change the {k} to {n}.
I want the {k} in {f} to be {n}.
I want {f} to have {n} as the {k}.
Let the {k} in {f} be {n}.
Look into {f} and set the {k} to {n}.
Open {f} and change the {k} to {n}.
Give the {k} in {f} the value {n}.
Open {f} and set the {k} to the value {n}.
"""
LIST_THEN_READ = """
There is one {x} file in {d}. Read it.
Read the {x} file in {d}.
Find the {x} file in {d} and read it.
List {d} and read the {x} file.
List the folder {d} and then read the {x} file in it.
What does the {x} file in {d} say?
Look into {d} and read the {x} file.
Look for the {x} file in {d} and show it to me.
Open the {x} file in {d}.
Open the folder {d} and read the {x} file there.
Show me the {x} file in {d}.
Which {x} file is in {d}? Read it.
There is a {x} file in {d}. What does it say?
In {d} there is a {x} file. Read it to me.
In {d} there is one {x} file, show it to me.
Please read the {x} file that is in {d}.
Can you read the {x} file in {d}?
List {d}, then open the {x} file.
See which {x} file {d} has and read it.
Can you look into {d} and open the {x} file?
"""
SEARCH_THEN_READ = """
Find the file in {d} that mentions {p} and read it.
Search {d} for {p} and read the file you find.
Which file in {d} mentions {p}? Read it.
Look for {p} in {d}, then read that file.
Find the file in {d} with {p} and then read it.
Find {p} in {d} and read the file.
Search {d} for {p}, then open the file.
Find {p} in {d} and open that file.
One file in {d} mentions {p}. Read it.
One file in {d} has {p} in it. Find and read that file.
One file in {d} mentions {p}. Search for it and open the file.
Grep for {p} in {d} and read the file it is in.
In {d} a file mentions {p}. Find it and read it.
Read the file in {d} that mentions {p}.
Read the file in {d} that has {p} in it.
"""
READ_THEN_SUM = """
Add the numbers in {f}.
Add up the numbers in {f}.
What is the sum of the numbers in {f}?
Read {f} and add the numbers.
Read {f} and add up the numbers in it.
Read {f} and tell me the sum.
Sum up the numbers in {f}.
Sum the numbers that {f} holds.
What do the numbers in {f} add up to?
What do the numbers that {f} holds sum up to?
{f} holds some numbers. Add them.
{f} holds some numbers. What is the sum?
How much do the numbers in {f} make together?
I need the sum of the numbers in {f}.
I need to know how much the numbers in {f} make together.
Please add the numbers in {f}.
Please tell me the sum of the numbers in {f}.
There are some numbers in {f}. Add them up.
Open {f} and add the numbers.
There are some numbers in {f}. What is the sum?
"""
SUM_THEN_WRITE = """
Compute {e} and write the result to {f}.
Compute {e} and save the result in {f}.
Calculate {e} and put the result into {f}.
Work out {e} and write it to {f}.
Work out {e} and save the result in {f}.
Write the result of {e} to {f}.
Write the value of {e} into {f}.
Save the result of {e} in {f}.
Put the result of {e} into {f}.
Put the value of {e} into {f}.
What is {e}? Write it to {f}.
What is {e}? Save the result in {f}.
Calculate {e} and save it as {f}.
I need the result of {e} in {f}.
I need the result of {e} saved in {f}.
Please compute {e} and write that to {f}.
Please calculate {e}, then write the result to {f}.
Save the value of {e} in {f}.
How much is {e}? Put it into {f}.
How much is {e}? Please write the result to {f}.
"""
READ_THEN_WRITE = """
= Copy {f} to {g}.
Copy the text of {f} into {g}.
Make a copy of {f} named {g}.
Read {f} and write the same text to {g}.
Read {f} and write it to {g}.
Save a copy of {f} as {g}.
Save the text of {f} as {g}.
Please copy {f} to {g}.
[Can|Could] you copy {f} into {g}?
[Can|Could] you save a copy of {f} as {g}?
Write the text of {f} into {g} [too|].
I need a copy of {f}, named {g}.
Put a copy of {f} into {g}.
Put the same text that is in {f} into {g}.
Put the text of {f} into {g} too.
"""
# ---- something is missing: what to ask; the answer is a file, a text, a command ...
UNCLEAR = [
    ("Which file?", "read", """
Read the file.
Read a file for me.
Open a file.
Please read a file.
Open a file for me, please.
Can you read a file?
Can you open a file for me?
I want you to read a file.
Show me a file.
Can you show me a file?
Please open the file.
Show me the file.
Could you read the file?
I want to see a file.
Could you show me the file, please?
"""),
    ("Which folder?", "list", """
List a folder.
List the folder for me.
Can you list a folder?
Please list a folder.
Can you list a folder for me?
Show me a folder.
Show me the folder, please.
Look into a folder.
Please look into a folder for me.
Can you look into a folder?
Open a folder.
I want to see a folder.
I want you to list a folder.
Open the folder.
Please open a folder.
"""),
    ("Which command?", "shell", """
Run a command.
Run a command for me.
Please run a command.
Can you run a command?
Can you run a command for me?
Execute a command.
I want you to run a command.
I want you to execute a command.
Use the shell.
Please execute a command for me.
Run something in the shell.
Can you use the shell for me?
Please run something.
Can you run something in the shell?
Please use the shell for me.
"""),
    ("What shall I search for?", "search", """
Search for something.
Please search for something.
Search the files.
Can you search for something?
Can you search the files for something?
Search in all files.
Find something for me.
I want you to search for something.
Please search the files for me.
I want you to find something for me.
Find something in the files.
Can you search in the files?
Do a search.
Do a search for me, please.
Can you do a search?
"""),
]
WRITE_UNCLEAR = """
Write something to {f}.
Write {f}.
Create {f}.
Please write {f}.
Please create {f} for me.
Make a file {f}.
Create a file {f}.
I need a file {f}.
Write a file {f} for me.
I need a new file {f}.
Can you create {f}?
Can you write {f} for me?
Make {f} for me.
Make a new file {f}.
Can you make a file {f} for me?
Put something into {f}.
Can you write something to {f}?
Please make {f}.
Write a new file, {f}.
Please put something into {f}.
"""
# ---- no tool is needed
FILE_FACT = """
The {k} in {f} is {v}.
In {f} the {k} is {v}.
In {f}, the {k} is {v}.
I set the {k} in {f} to {v}.
I have set the {k} in {f} to {v}.
The {k} in {f} is now {v}.
Note that the {k} in {f} is {v}.
Remember: the {k} in {f} is {v}.
Remember that the {k} in {f} is now {v}.
I know that the {k} in {f} is {v}.
I see that in {f} the {k} is {v}.
Note: in {f} the {k} is {v}.
I read {f}: the {k} is {v}.
I read in {f} that the {k} is {v}.
I know: in {f} the {k} is now {v}.
"""
VALUE_SAID = """
What did I say is the {k} in {f}?
Which {k} did I name for {f}?
What was the {k} in {f} again?
What was the {k} in {f} that I told you?
Which {k} in {f} did I name?
Which {k} did I tell you for {f}?
I told you the {k} in {f}. What was it?
I told you the {k} in {f}. What is it?
What did I tell you about the {k} in {f}?
What did I say about the {k} in {f}?
What {k} did I say {f} has?
What {k} did I tell you {f} has?
Do you remember the {k} in {f}?
Do you remember which {k} {f} has?
Tell me again what I said about the {k} in {f}.
Repeat the {k} that I told you for {f}.
I said what the {k} in {f} is. Repeat it.
Which {k} did I say is in {f}?
Tell me again which {k} {f} has.
Repeat what I told you about the {k} in {f}.
"""
MENTION = """
I read {f} yesterday, it was fun.
I read {f} yesterday.
I read {f} [this morning|last week], it was [long|short|good].
I wrote {f} [yesterday|last week|this morning].
I wrote {f} this morning, it was fun.
I wrote {f} myself.
I like {f}.
I like {f}, it is short.
I like how {f} looks now.
I have read {f} already.
I have read {f}, it is [good|short|long].
I am writing {f} right now.
I am reading {f} right now.
I am working on {f}.
I am working on {f} this week.
I am still working on {f}, it is long.
I worked on {f} [yesterday|all day].
I worked on {f} with {p} [yesterday|last week].
I will read {f} later.
I will read {f} tomorrow.
I will write {f} [later|tomorrow].
I will look at {f} later.
I will work on {f} tomorrow.
{p} wrote {f}.
{p} wrote {f} last week.
{p} wrote {f} and I read it yesterday.
{p} is reading {f}.
{p} is working on {f} right now.
{p} likes {f}.
{p} told me about {f} yesterday.
{p} told me about {f}, it is good.
{p} will look at {f} tomorrow.
{p} sent me {f} [yesterday|this morning].
{p} sent me {f}, I will read it later.
{p} and I worked on {f} all day.
My file {f} is [done|finished|short|long].
My file {f} is finished now.
The file {f} is [done|finished].
The file {f} is [old|new|long|short].
The file {f} is mine.
The file {f} was fun to write.
{f} is [done|finished] now.
{f} is a good file.
{f} is a good name.
{f} was fun to read.
{f} was fun to write, {p} likes it.
{f} is from {p}.
{f} is from last week.
The folder {d} is mine.
The folder {d} is [old|new].
My folder {d} is full of old files.
I made the folder {d} [yesterday|last week].
I made a new folder, {d}, last week.
{p} made the folder {d}.
I have a folder named {d}.
I have a folder named {d}, it is full.
{p} has a folder named {d}.
{p} has a file named {f}.
I have a file named {f}.
I have a file named {f}, it is old.
I ran {c} [yesterday|this morning].
I ran {c} this morning, all was good.
I always run {c} first.
I like the command {c}.
{p} ran {c} yesterday.
{p} likes the command {c}.
{p} runs {c} all day.
{p} runs {c} every morning.
I searched {d} for hours yesterday.
I searched the folder {d} this morning.
Yesterday I wrote {f} in an hour.
Yesterday I read {f} again.
Last week I wrote {f}.
Last week {p} worked on {f}.
Last week {p} read {f} again.
"""
KNOW = "Good to know."
AGAIN = {  # questions on what was done just now
    "calculator": """
What was the result?
What was the result again?
What did you get?
What did you get again?
What result did you get again?
Say the result again.
Tell me the result again.
Tell me again what you got.
Please repeat the result.
Please tell me the result again.
How much was it?
How much was it again?
What was that again?
I forgot the result.
I forgot how much it was.
Can you repeat the result?
Can you say that again?
Repeat that.
Sorry, what was it?
Sorry, can you repeat that?
""",
    "say": """
What did it say?
What did it say again?
Say that again.
Tell me again what it says.
Tell me again what it said.
Please repeat that.
Please say it again.
Can you repeat that?
Repeat it, please.
Can you repeat what it says?
I forgot what it said.
What was that again?
Sorry, what was it?
Sorry, I forgot. What did it say?
Sorry, what did it say again?
Can you say it again?
Repeat what you found.
What did you find?
What was in it again?
What did you find again?
""",
    "file": """
Which file did you {v}?
Which file was it?
Which file was that again?
What file did you {v}?
Which file was it again?
What was the file you {x}?
What was the name of the file?
Tell me which file you {x}.
What is the name of the file you {x}?
Tell me the name of the file you {x}.
I forgot which file you {x}.
Which file have you {u}?
Which file did you {v} just now?
Which file have you {u} just now?
I forgot which file it was.
""",
}
NO_TOOL = "I have no tool for that."
SAID = "You answered: {a}"
KEYS = ("port host user owner title version limit timeout colour language editor theme level mode region "
          "server address size width height speed price budget deadline author name email phone room city "
          "country currency path format model license branch seed count depth delay weight topic status "
          "priority contact greeting team birthday menu track score total rate tax discount code key label unit "
          "zone gate seat train flight hotel").split()
SEARCH_WORDS = ("TODO FIXME error warning main malloc free timeout port password invoice total budget deadline Monday "
          "import return include static failed retry license author version connect socket buffer overflow "
          "index thread lock cache token memory session report meeting holiday train ticket garden coffee").split()
VERBS = "call visit ask pay thank meet help invite remind write phone".split()
THINGS = ("milk;bread;tea;coffee;a ticket;a lamp;two chairs;paint;soap;paper;a book;a map;batteries;a rope;"
          "a new key;flowers;the report;the invoice;the letter;a boat;the form;a plan;eggs;rice;a coat;"
          "the tent;wood;nails;glue;a bell").split(";")
DO = "buy find sell order clean check fetch return print copy bring count paint repair move pack send".split()
ATTRIBUTES = ("budget deadline password port name code colour owner price date meeting room server plan limit "
          "address version trip size leader").split()
CODE_WORDS = ("init read parse open close count load save free check send start stop next last user file line path "
          "size").split()
