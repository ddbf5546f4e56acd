CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0001');
CREATE TABLE events (
	id INTEGER NOT NULL, 
	"key" VARCHAR(64) NOT NULL, 
	judge TEXT NOT NULL, 
	options VARCHAR(32) NOT NULL, 
	input_hash VARCHAR(32) NOT NULL, 
	case_id TEXT NOT NULL, 
	run TEXT NOT NULL, 
	rater VARCHAR(80) NOT NULL, 
	depth VARCHAR(8) NOT NULL, 
	action VARCHAR(8) NOT NULL, 
	answer TEXT, 
	verdict TEXT, 
	judge_version TEXT NOT NULL, 
	note TEXT NOT NULL, 
	why VARCHAR(8) NOT NULL, 
	random BOOLEAN NOT NULL, 
	blind BOOLEAN NOT NULL, 
	undoes INTEGER, 
	created VARCHAR(32) NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT events_depth CHECK (depth IN ('fields', 'labels')), 
	CONSTRAINT events_action CHECK (action IN ('label', 'skip', 'undo', 'seen')), 
	CONSTRAINT events_undoes CHECK ((action = 'undo') = (undoes IS NOT NULL)), 
	CONSTRAINT events_answer CHECK ((action = 'label') = (answer IS NOT NULL)), 
	UNIQUE ("key"), 
	UNIQUE (undoes), 
	FOREIGN KEY(undoes) REFERENCES events (id)
);
INSERT INTO "events" VALUES(1,'first','toy','00000000000000000000000000000000','00000000000000000000000000000000','case-0','run','anna','fields','label','{"score":0.5}',NULL,'1','','chosen',0,1,NULL,'2026-11-18T21:27:08.415+00:00');
CREATE INDEX events_subject ON events (judge, options, input_hash, rater, depth)
